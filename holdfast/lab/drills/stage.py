"""Plays a drill in virtual time through the production code: plant, panel, findings, truth, score and cost."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.alerts import Alert, alerts
from holdfast.lab.drills.compound import Compound
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.instruments import as_read, silenced
from holdfast.lab.drills.pricing import Loser, cost_document, losers
from holdfast.lab.drills.reliability import ScoredFinding
from holdfast.lab.drills.score import Named, Score, ScoredMoment, Truth, first_seen, score
from holdfast.lab.twin.plant.fault import PlantFault
from holdfast.lab.twin.plant.plant import Plant
from holdfast.lab.twin.plant.truth import first_visible, without
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel
from holdfast.seams.instruments import LOST_SECONDS
from holdfast.seams.persistence import FindingMemory

JUDGE_EVERY = 60.0
LEAD = 900.0  # before minute 0, without faults: the baseline
WINDOW_SECONDS = 120 * 60.0  # as long as a controller's window


@dataclass(frozen=True)
class Staged:
    drill: Drill
    panel: Panel
    healthy: Panel
    """The same drill without its faults."""
    truths: tuple[Truth, ...]
    judged: tuple[ScoredMoment, ...]
    losers: tuple[Loser, ...]

    @cached_property
    def alerts(self) -> list[Alert]:
        """Alerts that fire only because of the faults."""
        usual = {(one.subject, one.signal) for one in alerts(self.healthy)}
        return [one for one in alerts(self.panel) if (one.subject, one.signal) not in usual]

    @cached_property
    def score(self) -> Score:
        first_alert = self.alerts[0].at if self.alerts and self.truths else None
        return score(self.truths, self.judged, first_alert, tolerated(self.drill))

    @property
    def claims(self) -> list[ScoredFinding]:
        """Each finding once, in its last form, without the tolerated ones."""
        right = {truth.named for truth in self.truths}
        either = {one for truth in self.truths for one in truth.accepts} | tolerated(self.drill)
        return [
            ScoredFinding(raw=finding.raw, confidence=finding.confidence, right=named in right)
            for named, (_, finding) in first_seen(self.judged).items()
            if named not in either
        ]

    def document(self) -> dict[str, Any]:
        return {
            "drill": self.drill.name,
            "title": self.drill.title,
            "seed": self.drill.seed,
            "truth": [_truth(truth) for truth in self.truths],
            "findings": [
                {"cause": finding.cause, "kind": finding.kind, "confidence": round(finding.confidence, 3),
                 "at_seconds": at, "path": list(finding.path)}
                for at, finding in first_seen(self.judged).values()
            ],
            "score": self.score.as_json(),
            "cost": cost_document(self.drill, self.losers, self.panel),
        }  # fmt: skip


def tolerated(drill: Drill) -> frozenset[Named]:
    """Findings that need not be made: a gap long enough for an operator to call the sensor silent."""
    gaps = [one for one in drill.distractors if one.kind == "sensor_gap" and one.seconds >= LOST_SECONDS]
    silent = [one for one in drill.silences if one.end - one.start >= LOST_SECONDS]
    subjects = [*(one.subject for one in gaps), *(one.subject for one in silent)]
    return frozenset((subject, "sensor.lost") for subject in subjects)


def plant_of(drill: Drill) -> Plant:
    parts = drill.compounds
    return Plant(
        drill.layout,
        (*drill.faults, *(fault for one in parts for fault in one.faults)),
        (*drill.distractors, *(each for one in parts for each in one.distractors)),
        drill.seed,
        drill.step,
    )


def panel_of(drill: Drill, plant: Plant, *, silent: bool = True) -> Panel:
    """The panel that the drill's instruments read from a plant."""
    panel = as_read(plant.panel(drill.lasts, LEAD), drill.instruments, drill.seed)
    silences = [*drill.silences, *(one for each in drill.compounds for one in each.silences if silent)]
    return silenced(panel, silences, drill.layout.topology) if silences else panel


def stage(drill: Drill, progress: Callable[[float], None] = lambda _: None) -> Staged:
    """Plays the whole drill. `progress` receives the completed share, from 0 to 1."""
    plant = plant_of(drill)
    panel = panel_of(drill, plant)
    bare = replace(drill, compounds=())
    without_any = plant_of(bare)
    for fault in drill.faults:
        without_any = without(without_any, next(one for one in without_any.faults if one == fault))
    healthy = panel_of(bare, without_any)
    truths = tuple(_true(drill, fault, panel, healthy) for fault in drill.faults)
    truths += tuple(_compound_truth(drill, one, panel) for one in drill.compounds if one.truth is not None)
    progress(0.2)
    topology = drill.layout.topology
    moments = np.arange(JUDGE_EVERY, drill.lasts + 1, JUDGE_EVERY)
    judged, watch = [], FindingMemory()
    for number, moment in enumerate(moments):
        seen = panel.until(float(moment)).last(WINDOW_SECONDS)
        # as long as a controller keeps its baseline
        past = panel.until(0.0) if seen.times[0] > panel.times[0] else None
        found = watch.take(seams.explain(seen, topology, seams.ALL, past), topology, float(moment), drill.planned)
        judged.append(ScoredMoment(float(moment), _ranked(found)))
        progress(0.2 + 0.8 * (number + 1) / len(moments))
    return Staged(drill, panel, healthy, truths, tuple(judged), losers(drill, panel, healthy))


def _ranked(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: -finding.confidence))


def _true(drill: Drill, fault: PlantFault, panel: Panel, healthy: Panel) -> Truth:
    """The truth of a fault. If there are several, the drill is compared with one that has all others."""
    if len(drill.faults) > 1:
        healthy = panel_of(drill, without(plant_of(drill), fault))
    accepts: tuple[tuple[str, str], ...] = ()
    if fault.kind == "schedule.degraded_kept":
        accepts = ((f"{fault.subject}/gpu/0", "gpu.slow"),)
    return Truth(
        cause=fault.subject, kind=fault.kind, start=fault.start, end=fault.end, accepts=accepts,
        visible=first_visible(fault, panel, healthy),
    )  # fmt: skip


def _compound_truth(drill: Drill, part: Compound, panel: Panel) -> Truth:
    assert part.truth is not None
    if part.silences:
        return replace(part.truth, visible=part.truth.start)
    left = replace(drill, compounds=tuple(one for one in drill.compounds if one is not part))
    sign = part.faults[0] if part.faults else PlantFault(kind="", subject="", start=part.truth.start, magnitude=0.0)
    return replace(part.truth, visible=first_visible(sign, panel, panel_of(left, plant_of(left))))


def _truth(truth: Truth) -> dict[str, Any]:
    return {
        "cause": truth.cause, "kind": truth.kind, "start_seconds": truth.start,
        "end_seconds": None if truth.end == float("inf") else truth.end, "visible_seconds": truth.visible,
    }  # fmt: skip
