"""24 simulated hours of the demo: the share of the fleet in service, whether the breaker recovers, what is left open.

`python bench/demo_day.py [--hours H] [--speed S] [--seeds N]`. The demo's scenario, policy and technician run against
the real decisions in virtual time; the controller's clock is `speed` times as slow as the fleet's, as in
`holdfast up --demo`. Findings over the plant's instruments are not part of it.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean

from measure import publish

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.lab.virtual_demo import VirtualDemo

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--speed", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    days = [day(seed, options.hours, options.speed) for seed in range(1, options.seeds + 1)]
    worst = min(float(str(one["in_service_at_end"])) for one in days)
    goal = worst >= GOAL and not any(one["breaker_open_at_end"] for one in days)
    publish("demo_day", {"hours": options.hours, "speed": options.speed, "goal_met": goal, "days": days})


if __name__ == "__main__":
    main()
