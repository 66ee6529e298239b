"""Plays a drawn situation: panel, findings minute by minute, score. Shared by all families of plants."""

from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.recorded_play import accepted_first
from holdfast.lab.drills.reliability import ScoredFinding
from holdfast.lab.drills.score import ScoredMoment, first_seen, score, verdict
from holdfast.lab.drills.wide.background import NEW_CALM, NEW_UNDOCUMENTED, beside
from holdfast.lab.drills.wide.conditions import Conditions, Truths
from holdfast.lab.drills.wide.faults import FAULTS
from holdfast.lab.drills.wide.field import FIELD_CALM, FIELD_UNDOCUMENTED, lives
from holdfast.lab.drills.wide.more_situations import MORE_CALM, MORE_UNDOCUMENTED
from holdfast.lab.drills.wide.physics import truth
from holdfast.lab.drills.wide.readings import jobs_of, read
from holdfast.lab.drills.wide.site import Site, draw_site
from holdfast.lab.drills.wide.situations import (
    CALM,
    FIELD_SITUATIONS,
    MORE_SITUATIONS,
    NEW_SITUATIONS,
    OTHER_SITUATIONS,
    SERVING,
    SITUATIONS,
    UNDOCUMENTED,
)
from holdfast.lab.drills.wide.spoil import one_that_moves, spoiled
from holdfast.lab.drills.wide.stager import Situation, Stager
from holdfast.lab.drills.wide.strangers import OTHER_CALM, OTHER_FAULTS, OTHER_UNDOCUMENTED
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.seams.persistence import FindingMemory

Task = tuple[int, str, str]  # seed, situation, family
LASTS = 3600.0
LOOK_SECONDS = 60.0
FIRST_LOOK = 900.0
CONFIDENT = 0.8


def tasks(draws: int, first: int, family: str) -> list[Task]:
    """Half of the tasks are faults. Of the other half most are calm or planned, the rest undocumented."""
    faults, calm, other = list(FAULTS), list(CALM), list(UNDOCUMENTED)
    if family in MORE_SITUATIONS:
        calm, other = [*calm, *MORE_CALM], [*other, *MORE_UNDOCUMENTED]
    if family in NEW_SITUATIONS:
        calm, other = [*calm, *NEW_CALM], [*other, *NEW_UNDOCUMENTED]
    if family in OTHER_SITUATIONS:
        faults = [*faults, *OTHER_FAULTS]
        calm, other = [*calm, *OTHER_CALM], [*other, *OTHER_UNDOCUMENTED]
    if family in FIELD_SITUATIONS:
        calm, other = [*calm, *FIELD_CALM], [*other, *FIELD_UNDOCUMENTED]
    found = []
    for number in range(draws):
        if number % 2 == 0:
            kind = faults[number // 2 % len(faults)]
        elif number % 10 == 9:
            kind = other[number // 10 % len(other)]
        else:
            kind = calm[(number // 2 - number // 10) % len(calm)]
        found.append((first + number, kind, family))
    return found


def stage(task: Task) -> tuple[Panel, Topology, Situation]:
    _, kind, _ = task
    conditions, situation, found = _happens(task)
    # an event that slows a GPU is not calm
    if kind.startswith("calm.") and (over := _over(conditions.site, found)) > 0:
        conditions, situation, found = _happens(task, colder=over + 1.0)
    site = conditions.site
    without = [one for one in site.laws.unmetered if not any(name.startswith(one) for name in situation.needed)]
    panel = read(conditions, found, situation.needed, (*situation.unmetered, *without), jobs_of(conditions))
    situation = one_that_moves(panel, situation)
    return spoiled(panel, situation), site.topology(), situation


def _happens(task: Task, colder: float = 0.0) -> tuple[Conditions, Situation, Truths]:
    seed, kind, family = task
    site = draw_site(seed, family=family, serving=kind in SERVING, kind=kind)
    site.constants["setpoint"] -= colder
    conditions = Conditions(site, np.arange(0.0, LASTS, site.step))
    stager = Stager(conditions, LASTS, kind)
    situation = SITUATIONS[kind](stager)
    if family in NEW_SITUATIONS:
        beside(stager)
    if family in FIELD_SITUATIONS:
        lives(stager)
    return conditions, situation, truth(conditions)


def _over(site: Site, found: Truths) -> float:
    """Degrees by which the hottest GPU would exceed its limit if throttling did not reduce the excess."""
    return float(np.max(found["gpu_temperature_celsius"][1]) - site.constants["throttle"]) / 0.35


def play(task: Task) -> dict[str, Any]:
    seed, kind, family = task
    panel, topology, situation = stage(task)
    watch = FindingMemory()
    judged = []
    for moment in np.arange(FIRST_LOOK, LASTS + 1, LOOK_SECONDS):
        seen = panel.until(float(moment))
        said = watch.take(seams.explain(seen, topology), topology, float(moment), situation.planned)
        judged.append(ScoredMoment(float(moment), tuple(sorted(said, key=lambda one: -one.confidence))))
    truths, tolerated = situation.truths, situation.tolerated
    either = {one for each in truths for one in each.accepts} | tolerated
    found = first_seen(judged)
    right = {one.named for one in truths}
    wrong = {named: one for named, (_, one) in found.items() if named not in right | either}
    first = [verdict(one, judged) for one in truths]
    scored = score(truths, judged, None, tolerated)
    top1 = scored.top1 or bool(truths and accepted_first(truths, judged))
    return {
        "drill": f"{kind}#{seed}/{family}", "kind": kind,
        "truth": [{"cause": one.cause, "kind": one.kind, "start_seconds": one.start} for one in truths],
        "findings": [
            {"cause": one.cause, "kind": one.kind, "confidence": round(one.confidence, 3), "at_seconds": at,
             "path": list(one.path)}
            for at, one in found.values()
        ],
        "said": ["nothing" if one is None else one[1] for one in first],
        "score": {**scored.as_json(), "top1": top1},
        "confidently_wrong": any(one.confidence >= CONFIDENT for one in wrong.values()),
        "claims": [
            ScoredFinding(raw=one.raw, confidence=one.confidence, right=named in right)
            for named, (_, one) in found.items() if named not in either
        ],
    }  # fmt: skip
