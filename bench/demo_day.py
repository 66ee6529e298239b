"""24 simulated hours of the demo: the share of the fleet in service, whether the breaker recovers, what is left open.

`python bench/demo_day.py [--hours H] [--speed S] [--seeds N]`. The demo's scenario, policy and technician run against
the real decisions in virtual time; the controller's clock is `speed` times as slow as the fleet's, as in
`holdfast up --demo`. Findings over the plant's instruments are not part of it.

`--live` runs `holdfast up --demo` itself at that speed, with everything it has, samples its API, and prints the day as
a list: incidents, nodes that left service, planned work. 24 hours at 60 times the clock take 24 minutes.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

from measure import publish

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.console.demo import demo
from tests.lab.virtual_demo import VirtualDemo

from holdfast.model.lifecycle import OUT_OF_SERVICE

SAMPLE_HOURS = 0.25
GOAL = 0.95


def day(seed: int, hours: float, speed: float) -> dict[str, object]:
    demo = VirtualDemo("demo", seed, speed)
    shares: list[float] = []
    breaker_samples = 0
    while demo.world.now < hours * 3600:
        demo.run(SAMPLE_HOURS)
        shares.append(demo.in_service)
        breaker_samples += demo.breaker_open
        print(
            f"seed {seed}: {demo.world.now / 3600:5.2f} h, in service {demo.in_service:.3f}",
            file=sys.stderr,
            flush=True,
        )
    found = demo.incidents.values()
    return {
        "seed": seed,
        "in_service_at_end": round(demo.in_service, 3),
        "in_service_mean": round(fmean(shares), 4),
        "in_service_lowest": round(min(shares), 3),
        "breaker_open_at_end": demo.breaker_open,
        "breaker_open_share": round(breaker_samples / len(shares), 3),
        "incidents": len(found),
        "incidents_open_at_end": sum(one.closed is None for one in found),
        "incidents_by_subject": dict(Counter(one.subject for one in found).most_common()),
        "nodes_taken_out_by_cause": dict(demo.taken_out.most_common()),
        "technician_visits": demo.visits,
        "nodes_with_a_fault_at_end": sum(bool(node.faults) for node in demo.world.nodes),
    }


def live(hours: float, speed: float) -> dict[str, object]:
    """The real demo, processes and all; its own clock says when the day is over."""
    shares: list[float] = []
    with tempfile.TemporaryDirectory() as state, demo(Path(state), "--speed", f"{speed:g}") as site:
        began = float(site.get("/v1/fleet")["clock_began"])
        while (time.time() - began) * speed < hours * 3600:
            time.sleep(SAMPLE_HOURS * 3600 / speed)
            shares.append(_in_service(site.get("/v1/nodes")["nodes"]))
            passed = (time.time() - began) * speed / 3600
            print(f"{passed:5.2f} h, in service {shares[-1]:.3f}", file=sys.stderr, flush=True)
        incidents = site.get("/v1/incidents")["incidents"]
        moves = site.get(f"/v1/transitions?since={began}&limit=10000")["transitions"]
        breaker = any(pool["breaker_open"] for pool in site.get("/v1/fleet")["pools"])
    lines = summary(incidents, moves, began, speed)
    print("\n".join(lines), flush=True)
    return {
        "in_service_at_end": round(shares[-1], 3),
        "in_service_mean": round(fmean(shares), 4),
        "in_service_lowest": round(min(shares), 3),
        "breaker_open_at_end": breaker,
        "incidents": len(incidents),
        "incidents_open_at_end": sum(one["closed"] is None for one in incidents),
        "lines": lines,
    }


def _in_service(nodes: list[dict[str, Any]]) -> float:
    return sum(node["stage"] not in OUT_OF_SERVICE and not node["held"] for node in nodes) / max(1, len(nodes))


def summary(incidents: list[dict[str, Any]], moves: list[dict[str, Any]], began: float, speed: float) -> list[str]:
    """One line for each incident and each node that left service, in the order of the day."""
    lines = []
    for one in incidents:
        lasted = f"{(one['closed'] - one['opened']) * speed / 60:.0f} min" if one["closed"] else "still open"
        cause = one.get("cause") or (one.get("account") or {}).get("kind", "")
        lines.append((one["opened"], f"incident {one['subject']} {cause}, {lasted}: {one['reason']}"))
    for move in moves:
        if move["after"] in OUT_OF_SERVICE and move["before"] not in OUT_OF_SERVICE:
            lines.append((move["at"], f"{move['node']} leaves service: {move['reason']}"))
        elif move["before"] in OUT_OF_SERVICE and move["after"] not in OUT_OF_SERVICE | {"testing"}:
            lines.append((move["at"], f"{move['node']} is back: {move['reason']}"))
    return [f"{_clock((at - began) * speed)} {text[:200]}" for at, text in sorted(lines)]


def _clock(seconds: float) -> str:
    return f"{int(seconds // 3600):02d}:{int(seconds % 3600 // 60):02d}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--speed", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--live", action="store_true", help="the real demo instead of the decisions in virtual time")
    options = parser.parse_args()
    if options.live:
        one = live(options.hours, options.speed)
        met = float(str(one["in_service_at_end"])) >= GOAL and not one["breaker_open_at_end"]
        publish("demo_day_live", {"hours": options.hours, "speed": options.speed, "goal_met": met, **one})
        return
    days = [day(seed, options.hours, options.speed) for seed in range(1, options.seeds + 1)]
    worst = min(float(str(one["in_service_at_end"])) for one in days)
    goal = worst >= GOAL and not any(one["breaker_open_at_end"] for one in days)
    publish("demo_day", {"hours": options.hours, "speed": options.speed, "goal_met": goal, "days": days})


if __name__ == "__main__":
    main()
