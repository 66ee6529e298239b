"""A day of 64 nodes as instruments really report it: how many findings are false; with `--faults`, is every kind found?

Whole degrees, a reading every 30 to 60 s, missed scrapes, restarts, a daily season, noisy ranks, jobs that come and go.
"""

import argparse
import time
from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.score import ScoredMoment, first_seen
from holdfast.lab.drills.wide.faults import FAULTS
from holdfast.lab.drills.wide.live import DAY, NODES, live_day
from holdfast.lab.drills.wide.stager import Situation
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.seams.persistence import FindingMemory

from measure import publish

WINDOW_SECONDS = 90 * 60.0  # as a controller's
FIRST_LOOK = 3600.0
FAULT_SECONDS = 2 * 3600.0


def findings(panel: Panel, topology: Topology, situation: Situation, every: float) -> dict[tuple[str, str], Any]:
    watch, judged = FindingMemory(), []
    for moment in np.arange(FIRST_LOOK, float(panel.times[-1]), every):
        seen = panel.until(float(moment)).last(WINDOW_SECONDS)
        judged.append(ScoredMoment(float(moment), watch.take(seams.explain(seen, topology), topology, float(moment))))
    return first_seen(judged)


def day(seed: int, lasts: float, every: float) -> dict[str, Any]:
    found = findings(*live_day(seed, lasts), every)
    named = [[*name, round(one.confidence, 2), round(at)] for name, (at, one) in found.items()]
    print("day", seed, named, flush=True)
    return {"seed": seed, "hours": lasts / 3600, "false": len(named), "findings": named}


def fault(kind: str, seed: int, every: float) -> dict[str, Any]:
    panel, topology, situation = live_day(seed, FAULT_SECONDS, kind)
    found = findings(panel, topology, situation, every)
    right = {pair for one in situation.truths for pair in (one.named, *one.accepts)}
    false = [list(name) for name in found if name not in right]
    hit = [at for name, (at, _) in found.items() if name in right]
    after = round(min(hit) - situation.truths[0].start) if hit else None
    print("fault", kind, after, false, flush=True)
    return {"kind": kind, "found": bool(hit), "after_seconds": after, "false": false}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--hours", type=float, default=DAY / 3600)
    options.add_argument("--every", type=float, default=60.0, help="seconds between two evaluations")
    options.add_argument("--faults", action="store_true", help="also every kind of fault, in two hours of such data")
    asked = options.parse_args()
    began = time.perf_counter()
    days = [day(asked.first + number, asked.hours * 3600, asked.every) for number in range(asked.seeds)]
    faults = [fault(kind, asked.first, asked.every) for kind in FAULTS] if asked.faults else []
    hours = sum(one["hours"] for one in days)
    publish(
        "live",
        {
            "nodes": NODES, "evaluated_every_seconds": asked.every, "hours": hours,
            "false_findings": sum(one["false"] for one in days),
            "false_findings_a_day": round(24 * sum(one["false"] for one in days) / hours, 2) if hours else None,
            "days": days, "faults": len(faults), "faults_found": sum(one["found"] for one in faults),
            "false_beside_faults": sum(len(one["false"]) for one in faults),
            "faults_missed": [one["kind"] for one in faults if not one["found"]],
            "by_fault": faults, "wall_seconds": round(time.perf_counter() - began, 1),
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
