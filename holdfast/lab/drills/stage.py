"""Plays a drill in fast time through the real path: plant, panel, findings per minute, truth, score and cost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast import seams
from holdfast.lab.drills.alerts import Alert, alerts
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.pricing import Loser, cost_document, losers
from holdfast.lab.drills.reliability import Claim
from holdfast.lab.drills.score import Judged, Named, Score, Truth, first_seen, score
from holdfast.lab.twin.plant.fault import Fault
from holdfast.lab.twin.plant.plant import Plant
from holdfast.lab.twin.plant.truth import first_visible, without
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel
from holdfast.seams.instruments import LOST_SECONDS
from holdfast.seams.persistence import Watch

JUDGE_EVERY = 60.0
LEAD = 900.0  # before minute 0, without faults: the baseline to compare with
WINDOW_SECONDS = 120 * 60.0  # as a controller's window


@dataclass(frozen=True)
class Staged:
    drill: Drill
    panel: Panel
    healthy: Panel
    """The same drill without its faults."""
    truths: tuple[Truth, ...]
    judged: tuple[Judged, ...]
    losers: tuple[Loser, ...]

    @cached_property
    def alerts(self) -> list[Alert]:
        """Alerts that would not have come without the faults."""
        usual = {(one.subject, one.signal) for one in alerts(self.healthy)}
        return [one for one in alerts(self.panel) if (one.subject, one.signal) not in usual]

    @cached_property
    def score(self) -> Score:
        first_alert = self.alerts[0].at if self.alerts and self.truths else None
        return score(self.truths, self.judged, first_alert, tolerated(self.drill))

    @property
    def claims(self) -> list[Claim]:
        """Every finding once, in its last form; without those that are neither right nor wrong."""
        right = {truth.named for truth in self.truths}
        either = {one for truth in self.truths for one in truth.accepts} | tolerated(self.drill)
        return [
            Claim(raw=finding.raw, confidence=finding.confidence, right=named in right)
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
    """A gap so long that an operator would call the sensor silent may be found as one."""
    gaps = [one for one in drill.distractors if one.kind == "sensor_gap" and one.seconds >= LOST_SECONDS]
    return frozenset((one.subject, "sensor.lost") for one in gaps)


def plant_of(drill: Drill) -> Plant:
    return Plant(drill.layout, drill.faults, drill.distractors, drill.seed, drill.step)


def stage(drill: Drill, progress: Callable[[float], None] = lambda _: None) -> Staged:
    """Plays all of it. `progress` is called with the share that is done, from 0 to 1."""
    plant = plant_of(drill)
    panel = plant.panel(drill.lasts, LEAD)
    without_any = plant_of(drill)
    for fault in drill.faults:
        without_any = without(without_any, next(one for one in without_any.faults if one == fault))
    healthy = without_any.panel(drill.lasts, LEAD)
    truths = tuple(_true(drill, fault, panel, healthy) for fault in drill.faults)
    progress(0.2)
    topology = drill.layout.topology
    moments = np.arange(JUDGE_EVERY, drill.lasts + 1, JUDGE_EVERY)
    judged, watch = [], Watch()
    for number, moment in enumerate(moments):
        seen = panel.until(float(moment)).last(WINDOW_SECONDS)
        past = panel.until(0.0) if seen.times[0] > 0 else None  # as a controller remembers its baseline
        found = watch.take(seams.explain(seen, topology, seams.ALL, past), topology, float(moment))
        judged.append(Judged(float(moment), _ranked(found)))
        progress(0.2 + 0.8 * (number + 1) / len(moments))
    return Staged(drill, panel, healthy, truths, tuple(judged), losers(drill, panel, healthy))


def _ranked(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: -finding.confidence))


def _true(drill: Drill, fault: Fault, panel: Panel, healthy: Panel) -> Truth:
    """Where there are several faults, each is compared with the drill that has all of the others."""
    if len(drill.faults) > 1:
        healthy = without(plant_of(drill), fault).panel(drill.lasts, LEAD)
    accepts: tuple[tuple[str, str], ...] = ()
    if fault.kind == "schedule.degraded_kept":
        accepts = ((f"{fault.subject}/gpu/0", "gpu.slow"),)
    return Truth(
        cause=fault.subject, kind=fault.kind, start=fault.start, end=fault.end, accepts=accepts,
        visible=first_visible(fault, panel, healthy),
    )  # fmt: skip


def _truth(truth: Truth) -> dict[str, Any]:
    return {
        "cause": truth.cause, "kind": truth.kind, "start_seconds": truth.start,
        "end_seconds": None if truth.end == float("inf") else truth.end, "visible_seconds": truth.visible,
    }  # fmt: skip
