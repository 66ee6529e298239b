"""How long a fleet is without a leader: two controllers on PostgreSQL, the leader killed or stopped, again and again.

Prints one JSON line: seconds from the blow until the other acknowledges a report, p50 and worst of each kind, beside
the lease, which is the floor: no controller may lead before it has run out.
"""

import argparse
import json
import signal
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from holdfast.fleet.controller.lead import LEASE_SECONDS, TRY_SECONDS
from tests.fleet.controller.running import Agent, Controller, running
from tests.waiting import until
from tests.postgres import Server

RESULTS = Path(__file__).with_name("results") / "failover.json"
GOAL_SECONDS = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often each way")
    times = parser.parse_args().times
    server = Server()
    try:
        killed = [fail_over(server, signal.SIGKILL) for _ in range(times)]
        stopped = [fail_over(server, signal.SIGSTOP) for _ in range(times)]
    finally:
        server.stop()
    figures = {
        "bench": "failover",
        "times": times,
        "killed_seconds": spread(killed),
        "stopped_seconds": spread(stopped),
        "lease_seconds": LEASE_SECONDS,
        "try_seconds": TRY_SECONDS,
        "worst_to_lease": round(max(killed + stopped) / LEASE_SECONDS, 2),
        "goal_seconds": GOAL_SECONDS,
        "goal_met": max(killed + stopped) < GOAL_SECONDS,
    }
    print(json.dumps(figures))
    RESULTS.write_text(json.dumps(figures) + "\n", encoding="utf-8")


def fail_over(server: Server, blow: signal.Signals) -> float:
    with TemporaryDirectory() as directory:
        store = server.new_store()
        with (
            running(Path(directory) / "a", store=store) as first,
            running(Path(directory) / "b", store=store, leads=False) as second,
        ):
            agent = first.ready_node("n1")
            first.process.send_signal(blow)
            struck = time.monotonic()
            agent.controller = second
            until(lambda: taken(agent, second), "the other takes reports")
            return time.monotonic() - struck


def taken(agent: Agent, controller: Controller) -> bool:
    """A redirect to the one that is gone is not followed: it would only be waited for."""
    return controller.report([agent.next(heartbeat=True)], agent.credential).status_code == 200


def spread(seconds: list[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(seconds), 2), "max": round(max(seconds), 2)}


if __name__ == "__main__":
    main()
