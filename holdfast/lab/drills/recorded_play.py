"""Plays a recorded drill: findings per minute and their score."""

from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.recorded import Recorded
from holdfast.lab.drills.score import Score, ScoredMoment, Truth, first_seen, score
from holdfast.lab.drills.stage import JUDGE_EVERY, WINDOW_SECONDS
from holdfast.seams.persistence import FindingMemory

NO_COST: dict[str, Any] = {"total": 0.0, "lost_gpu_hours": 0.0, "delay_hours": 0.0, "layers": [], "by": []}


def judge(drill: Recorded) -> tuple[ScoredMoment, ...]:
    watch, judged = FindingMemory(), []
    past = drill.panel.until(drill.judge_from)
    for moment in np.arange(drill.judge_from, drill.panel.now + JUDGE_EVERY, JUDGE_EVERY):
        seen = drill.panel.until(float(moment)).last(WINDOW_SECONDS)
        known = past if seen.times[0] > drill.panel.times[0] else None  # as long as a controller keeps its baseline
        found = seams.explain(seen, drill.topology, seams.ALL, known)
        findings = watch.take(found, drill.topology, float(moment), drill.planned)
        judged.append(ScoredMoment(float(moment), tuple(sorted(findings, key=lambda one: -one.confidence))))
    return tuple(judged)


def play_recorded(drill: Recorded) -> dict[str, Any]:
    judged = judge(drill)
    found = first_seen(judged)
    scored: Score = score(drill.truths, judged, None, drill.tolerated)
    top1 = scored.top1 or (bool(drill.truths) and accepted_first(drill.truths, judged))
    return {
        "drill": drill.name, "title": drill.title, "seed": drill.seed,
        "truth": [
            {"cause": one.cause, "kind": one.kind, "start_seconds": one.start,
             "end_seconds": None if one.end == float("inf") else one.end, "visible_seconds": one.start}
            for one in drill.truths
        ],
        "findings": [
            {"cause": one.cause, "kind": one.kind, "confidence": round(one.confidence, 3), "at_seconds": at,
             "path": list(one.path)}
            for at, one in found.values()
        ],
        "score": {**scored.as_json(), "top1": top1},
        "cost": NO_COST,
    }  # fmt: skip


def accepted_first(truths: tuple[Truth, ...], judged: tuple[ScoredMoment, ...] | list[ScoredMoment]) -> bool:
    """Whether each truth, or an answer that it accepts, ranked first at the end of its fault."""
    for truth in truths:
        during = [moment for moment in judged if truth.start <= moment.at < truth.end]
        first = during[-1].findings[:1] if during else ()
        if not any((one.cause, one.kind) in (truth.named, *truth.accepts) for one in first):
            return False
    return True
