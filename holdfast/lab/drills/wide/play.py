"""Plays what was drawn: panel, findings minute by minute, score. The same code for every family of plants."""

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.recorded_play import accepted_first
from holdfast.lab.drills.reliability import ScoredFinding
from holdfast.lab.drills.score import ScoredMoment, first_seen, score, verdict
from holdfast.lab.drills.wide.background import NEW_CALM, NEW_UNDOCUMENTED, beside
from holdfast.lab.drills.wide.conditions import Conditions
from holdfast.lab.drills.wide.faults import FAULTS
from holdfast.lab.drills.wide.more_situations import MORE_CALM, MORE_UNDOCUMENTED
from holdfast.lab.drills.wide.physics import truth
from holdfast.lab.drills.wide.readings import jobs_of, read
from holdfast.lab.drills.wide.site import draw_site
from holdfast.lab.drills.wide.situations import (
    CALM,
    MORE_SITUATIONS,
    NEW_SITUATIONS,
    SERVING,
    SITUATIONS,
    UNDOCUMENTED,
)
from holdfast.lab.drills.wide.stager import Situation, Stager
from holdfast.lab.drills.wide.strangers import OTHER_CALM, OTHER_FAULTS, OTHER_UNDOCUMENTED
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Topology
from holdfast.seams.persistence import FindingMemory

Task = tuple[int, str, str]  # seed, situation, family
LASTS = 3600.0
LOOK_SECONDS = 60.0
FIRST_LOOK = 900.0
CONFIDENT = 0.8
GAP_SECONDS = 200.0


def tasks(draws: int, first: int, family: str) -> list[Task]:
    """Half of them faults; of the other half most are calm or planned, the rest undocumented."""
    faults, calm, other = list(FAULTS), list(CALM), list(UNDOCUMENTED)
    if family in MORE_SITUATIONS:
        calm, other = [*calm, *MORE_CALM], [*other, *MORE_UNDOCUMENTED]
    if family in NEW_SITUATIONS:
        calm, other = [*calm, *NEW_CALM], [*other, *NEW_UNDOCUMENTED]
    if family == "unseen":
        faults = [*faults, *OTHER_FAULTS]
        calm, other = [*calm, *OTHER_CALM], [*other, *OTHER_UNDOCUMENTED]
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
    seed, kind, family = task
    site = draw_site(seed, family=family, serving=kind in SERVING, kind=kind)
    times = np.arange(0.0, LASTS, site.step)
    conditions = Conditions(site, times)
    stager = Stager(conditions, LASTS, kind)
    situation = SITUATIONS[kind](stager)
    if family in NEW_SITUATIONS:
        beside(stager)
    without = [one for one in site.laws.unmetered if not any(name.startswith(one) for name in situation.needed)]
    panel = read(conditions, truth(conditions), situation.needed, (*situation.unmetered, *without), jobs_of(conditions))
    return _spoiled(panel, situation), site.topology(), situation


def _spoiled(panel: Panel, situation: Situation) -> Panel:
    """Instruments that lie or fall silent."""
    tables = dict(panel.tables)
    lie, signal, subjects, since = situation.sensor
    if lie and signal in tables:
        tables[signal] = _lying(tables[signal], lie, subjects.split(), panel.times, since)
    for prefixes, start in situation.silent:
        late = panel.times >= abs(start)
        if start < 0:
            late &= panel.times < abs(start) + GAP_SECONDS
        for name, table in list(tables.items()):
            rows = [row for row, one in enumerate(table.subjects) if one.startswith(prefixes)]
            if rows:
                values = table.values.copy()
                values[np.ix_(np.array(rows), np.flatnonzero(late))] = np.nan
                tables[name] = SignalTable(table.subjects, values)
    return replace(panel, tables=tables)


def _lying(table: SignalTable, lie: str, subjects: list[str], times: np.ndarray[Any, Any], since: float) -> SignalTable:
    values = table.values.copy()
    late = times >= since
    for subject in subjects:
        row = values[table.index[subject]]
        first = int(np.argmax(late))
        if lie == "stuck":
            row[late] = row[max(0, first - 1)]
        elif lie == "lost":
            row[late] = np.nan
        elif lie == "absurd":
            row[late] = np.where(np.arange(late.sum()) % 2, -999.0, 65535.0)
        elif lie == "zero":
            row[late] = 0.0
        else:
            row[late] += (0.8 * abs(float(np.nanmedian(row))) * (times[late] - since) / 3600).astype(np.float32)
    return SignalTable(table.subjects, values)


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
