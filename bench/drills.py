"""How often the first cause is right: every shipped drill and many drawn ones, with bounds; peer: alarms of single
components, on the same panels. `--seeds 200 --hard 60` is the full count; `--hard` are drawn as unkind people would."""

import argparse
import time
from collections.abc import Sequence
from math import inf
from typing import Any

from measure import publish

from holdfast.lab.drills.batch import fuzz, fuzz_summary, fuzz_tasks, fuzz_wide, play_all, summary, wide_summary
from holdfast.lab.drills.draw import CALM
from holdfast.lab.drills.file import load, shipped
from holdfast.lab.drills.wide.laws import FAMILIES


def against_alerts(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of the faulty ones: how many raised an alarm of a component at all, and how many were found before it."""
    faulty = [one for one in outcomes if one["truth"]]
    alarmed = [one for one in faulty if one["score"]["first_alert_seconds"] is not None]
    found = [one for one in alarmed if one["score"]["detect_seconds"] is not None]
    return {
        "faulty": len(faulty),
        "with_a_component_alert": len(alarmed),
        "found_before_it": sum(bool(one["score"]["before_alert"]) for one in found),
        "found_without_any_alert": sum(
            one["score"]["detect_seconds"] is not None for one in faulty if one["score"]["first_alert_seconds"] is None
        ),
    }


def of_family(family: str, draws: int, first: int, processes: int, seconds: float, skip: int) -> None:
    began = time.perf_counter()
    outcomes = fuzz_wide(draws, first, processes, family, seconds=seconds, skip=skip)
    found = {**wide_summary(outcomes), "family": family, "asked_draws": draws, "first_seed": first, "skipped": skip}
    publish(
        f"drills_{family}{'_rest' if skip else ''}", {**found, "wall_seconds": round(time.perf_counter() - began, 1)}
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=200)
    options.add_argument("--hard", type=int, default=60)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--processes", type=int, default=0)
    options.add_argument("--family", choices=FAMILIES, help="plants drawn wide, of this family, and no other drill")
    options.add_argument("--draws", type=int, default=400, help="with --family: so many")
    options.add_argument("--seconds", type=float, default=inf, help="with --family: begin no draw after so long")
    options.add_argument("--skip", type=int, default=0, help="with --family: leave out the first so many of the draws")
    asked = options.parse_args()
    began = time.perf_counter()
    if asked.family:
        of_family(asked.family, asked.draws, asked.first, asked.processes, asked.seconds, asked.skip)
        return
    known = play_all([load(name) for name in shipped()], asked.processes)
    random = fuzz(fuzz_tasks(asked.seeds, asked.first, "", 0.15), asked.processes)
    hard = fuzz(fuzz_tasks(asked.hard, asked.first, "", 0.15, hard=True), asked.processes)
    everything = [*known, *random]
    found, unkind = fuzz_summary(random), fuzz_summary(hard)
    publish("drills", {
        "shipped": summary(known),
        "shipped_missed": [one["drill"] for one in known if not one["score"]["top1"]],
        "drawn": {key: value for key, value in found.items() if key not in ("confusion", "misses")},
        "drawn_missed": [one["drill"] for one in found["misses"]],
        "hard": {key: value for key, value in unkind.items() if key not in ("confusion", "misses")},
        "hard_missed": [one["drill"] for one in unkind["misses"]],
        "together": summary(everything),
        "component_alerts": against_alerts(everything),
        "confusion": found["confusion"],
        "first_seed": asked.first,
        "calm_kind": CALM,
        "wall_seconds": round(time.perf_counter() - began, 1),
    })  # fmt: skip


if __name__ == "__main__":
    main()
