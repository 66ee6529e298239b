"""Runs many drills: shipped ones, or random ones with a confusion matrix."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import inf
from statistics import median
from typing import Any, TypeVar

from holdfast.lab.drills.confusion import NOTHING, matrix, upper_bound, wilson
from holdfast.lab.drills.draw import CALM, draw, drawable
from holdfast.lab.drills.draw_hard import draw_hard
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.recorded import Recorded
from holdfast.lab.drills.recorded_play import play_recorded
from holdfast.lab.drills.reliability import bands
from holdfast.lab.drills.score import verdict
from holdfast.lab.drills.stage import stage
from holdfast.lab.drills.subjects import KnownSubjects
from holdfast.lab.drills.wide import play as wide
from holdfast.model.refusal import Refusal

Task = tuple[int, str, bool]
AT_ONCE = 40  # draws


Outcome = dict[str, Any]
Work = TypeVar("Work")
Advance = Callable[[float], None]


def _ignore(done: float) -> None:
    """Default callback: shows no progress."""


def play_all(drills: Sequence[Drill | Recorded], processes: int, advance: Advance = _ignore) -> list[Outcome]:
    return list(_spread(_played, drills, processes, advance))


def fuzz(tasks: Sequence[Task], processes: int, advance: Advance = _ignore) -> list[Outcome]:
    return list(_spread(drawn, tasks, processes, advance))


def _played(drill: Drill | Recorded) -> Outcome:
    return play_recorded(drill) if isinstance(drill, Recorded) else stage(drill).document()


def _spread(
    work: Callable[[Work], Outcome], tasks: Sequence[Work], processes: int, advance: Advance
) -> Iterator[Outcome]:
    """Spreads tasks over the cores of this machine and yields the outcomes in order."""
    many = min(processes or os.cpu_count() or 1, len(tasks))
    if many <= 1:
        for task in tasks:
            yield work(task)
            advance(1)
        return
    with ProcessPoolExecutor(many) as pool:
        for outcome in pool.map(work, tasks):
            yield outcome
            advance(1)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    faulty = [one for one in outcomes if one["truth"]]
    calm = [one for one in outcomes if not one["truth"]]
    right = sum(one["score"]["top1"] for one in faulty)
    noisy = sum(one["score"]["false_findings"] > 0 for one in calm)
    low, high = wilson(right, len(faulty))
    times = [one["score"]["detect_seconds"] for one in faulty if one["score"]["detect_seconds"] is not None]
    return {
        "faulty": len(faulty),
        "top1": right,
        "top1_low": round(low, 4),
        "top1_high": round(high, 4),
        "top3": sum(one["score"]["top3"] for one in faulty),
        "median_detect_seconds": median(times) if times else None,
        "false_findings": sum(one["score"]["false_findings"] for one in outcomes),
        "calm": len(calm),
        "calm_with_false_findings": noisy,
        "calm_false_upper_bound": round(upper_bound(noisy, len(calm)), 4),
    }


def fuzz_tasks(seeds: int, first: int, kind: str, calm: float, hard: bool = False) -> list[Task]:
    _refuse_kind(kind)
    """Tasks in which all kinds are about equally frequent, mixed with the requested number of calm drills."""
    found: list[Task] = []
    every = drawable()
    owed = 0.0
    for number in range(seeds):
        owed += calm
        chosen = kind or (CALM if owed >= 1 else every[number % len(every)])
        owed -= chosen == CALM and not kind
        found.append((first + number, chosen, hard))
    return found


def _refuse_kind(kind: str) -> None:
    if kind and kind != CALM and kind not in drawable():
        raise Refusal(f"--kind: there is no kind {kind!r}; {KnownSubjects.near(kind, (*drawable(), CALM))}")


def fuzz_wide(
    draws: int,
    first: int,
    processes: int,
    family: str,
    advance: Advance = _ignore,
    seconds: float = inf,
    skip: int = 0,
) -> list[Outcome]:
    """Plays random plants of one family of `wide.laws.FAMILIES`.

    No drill starts after `seconds`. The drills played until then are a fair sample, because the kinds take turns.
    `skip` leaves out drills that an earlier run played.
    """
    todo = wide.tasks(draws, first, family)[skip:]
    found: list[Outcome] = []
    ends = time.monotonic() + seconds
    for place in range(0, len(todo), AT_ONCE):
        if time.monotonic() > ends:
            break
        found += _spread(wide.play, todo[place : place + AT_ONCE], processes, advance)
    return found


def wide_summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    faulty = [one for one in outcomes if not one["kind"].startswith(("calm.", "planned.", "unknown."))]
    calm = [one for one in outcomes if one["kind"].startswith(("calm.", "planned."))]
    other = [one for one in outcomes if one["kind"].startswith("unknown.")]
    right, silent = sum(one["score"]["top1"] for one in faulty), sum(not one["score"]["false_findings"] for one in calm)
    wrong = sum(one["confidently_wrong"] for one in outcomes)
    times = [one["score"]["detect_seconds"] for one in faulty if one["score"]["detect_seconds"] is not None]
    claims = [claim for one in outcomes for claim in one["claims"]]
    return {
        "draws": len(outcomes),
        "faulty": len(faulty), "top1": right, "top1_low": round(wilson(right, len(faulty))[0], 4),
        "calm": len(calm), "calm_silent": silent, "calm_silent_low": round(wilson(silent, len(calm))[0], 4),
        "undocumented": len(other), "undocumented_right": sum(one["score"]["top1"] for one in other),
        "confidently_wrong": wrong, "confidently_wrong_high": round(upper_bound(wrong, len(outcomes)), 4),
        "false_findings": sum(one["score"]["false_findings"] for one in outcomes),
        "median_detect_seconds": median(times) if times else None,
        "reliability": [band.as_json() for band in bands(claims)],
        "misses": [
            {"drill": one["drill"], "truth": one["truth"], "findings": one["findings"][:5]} for one in misses(outcomes)
        ],
    }  # fmt: skip


def drawn(task: Task) -> Outcome:
    seed, kind, hard = task
    staged = stage((draw_hard if hard else draw)(seed, kind))
    first = [verdict(truth, staged.judged) for truth in staged.truths]
    kinds = [NOTHING if one is None else one[1] for one in first]
    return {**staged.document(), "kind": kind, "said": kinds, "claims": staged.claims}


def fuzz_summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    pairs = []
    for one in outcomes:
        if one["truth"]:
            right = one["score"]["top1"]
            found = one["said"][0]
            other = f"{found} elsewhere" if found == one["kind"] else found
            pairs.append((one["kind"], one["kind"] if right else other))
        else:
            kinds = [finding["kind"] for finding in one["findings"]]
            pairs.append((CALM, kinds[0] if kinds else CALM))
    return {
        "seeds": len(outcomes),
        **summary(outcomes),
        "confusion": matrix(pairs),
        "reliability": [band.as_json() for band in bands(claim for one in outcomes for claim in one["claims"])],
        "misses": [
            {"drill": one["drill"], "truth": one["truth"], "findings": one["findings"][:5]} for one in misses(outcomes)
        ],
    }


def misses(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [one for one in outcomes if not one["score"]["top1"] or one["score"]["false_findings"]]
