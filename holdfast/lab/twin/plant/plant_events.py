"""Events without physics: rollouts, verdicts, power brakes, route changes, harmless noise."""

from dataclasses import dataclass, field

import numpy as np

from holdfast.lab.twin.plant.fault import Distractor, PlantFault
from holdfast.lab.twin.plant.jobs import PlantJob
from holdfast.lab.twin.plant.layout import Layout
from holdfast.lab.twin.plant.power import Power
from holdfast.model.signal import Event

XIDS = (13, 31, 79, 119)
HOUR = 3600.0


@dataclass
class PlantEvents:
    layout: Layout
    faults: tuple[PlantFault, ...]
    distractors: tuple[Distractor, ...]
    power: Power
    rng: np.random.Generator
    events: list[Event] = field(default_factory=list)
    _reported: set[tuple[int, str]] = field(default_factory=set)

    def step(self, now: float, seconds: float, runs: list[PlantJob]) -> None:
        for number, fault in enumerate(self.faults):
            if fault.level(now) > 0:
                self._strike(number, fault, now, seconds, runs)
        for one in self.distractors:
            if one.happens(now, seconds):
                self._distract(one, now)

    def _strike(self, number: int, fault: PlantFault, now: float, seconds: float, runs: list[PlantJob]) -> None:
        if fault.kind == "software.rollout":
            self._roll_out(number, fault, now)
            self._break(fault, now, seconds, runs)
        elif fault.kind == "schedule.slow_recovery" and self._first(number, ""):
            for run in runs:
                if run.subject == fault.subject:
                    run.fail(now, "a failure", fault.magnitude * run.spec.restart_seconds)
        elif fault.kind == "schedule.degraded_kept" and self._first(number, ""):
            self._add_event(
                "verdict", now, fault.subject, "gpu.clocks: degraded", health="degraded", check="gpu.clocks"
            )
        elif fault.kind == "fabric.routing" and self._first(number, ""):
            self._add_event("route_change", now, fault.subject, "forwarding tables changed")
        elif fault.kind in ("power.brake", "power.psu", "power.feed_lost"):
            self._brakes(number, fault, now)

    def _brakes(self, number: int, fault: PlantFault, now: float) -> None:
        """Reports power brakes. Nodes behind a lost shelf are braked for a moment, until their new limits apply."""
        if fault.kind == "power.brake":
            nodes = np.unique(self.layout.node_of_gpu[self.power.behind(fault.subject)])
        else:
            weak = np.flatnonzero(self.power.healthy.reshape(-1, 2).sum(axis=1) < 2)
            nodes = np.flatnonzero(np.isin(self.layout.rack_of_node, weak))
        for node in nodes:
            if self._first(number, self.layout.nodes[node]):
                self._add_event("power_brake", now, self.layout.nodes[node], "external power brake asserted")

    def _roll_out(self, number: int, fault: PlantFault, now: float) -> None:
        """Rolls out to one node after the other during the ramp."""
        due = int(np.ceil(len(fault.nodes) * fault.level(now)))
        version = fault.subject.partition("/")[2]
        for node in fault.nodes[:due]:
            if self._first(number, self.layout.nodes[node]):
                self._add_event(
                    _rollout_of(version), now, self.layout.nodes[node], f"now at {version}", version=version
                )

    def _break(self, fault: PlantFault, now: float, seconds: float, runs: list[PlantJob]) -> None:
        if self.rng.random() >= fault.strength(now) * seconds / HOUR:
            return
        due = max(1, int(len(fault.nodes) * fault.level(now)))
        node = fault.nodes[int(self.rng.integers(due))]
        gpu = f"{self.layout.nodes[node]}/gpu/{int(self.rng.integers(self.layout.fleet.gpus_per_node))}"
        code = int(self.rng.choice(XIDS[1:]))
        self.events.append(Event(kind="xid", at=now, text=f"Xid {code}", subject=gpu, code=code, severity="fatal"))
        for run in runs:
            if node in run.spec.nodes:
                run.fail(now, f"Xid {code} on {self.layout.node_names[node]}")

    def _distract(self, one: Distractor, now: float) -> None:
        if one.kind == "route_change":
            self._add_event("route_change", now, one.subject, "forwarding tables changed")
        elif one.kind == "rollout":
            self._add_event("driver_rollout", now, one.subject, "now at driver-570.1", version="driver-570.1")
        elif one.kind == "xid":
            self.events.append(Event(kind="xid", at=now, text="Xid 13", subject=one.subject, code=XIDS[0]))
        elif one.kind == "port_flap":
            self._add_event("port_down", now, one.subject, "link down")
            self._add_event("port_up", now + 2, one.subject, "link up")

    def _first(self, number: int, what: str) -> bool:
        if (number, what) in self._reported:
            return False
        self._reported.add((number, what))
        return True

    def _add_event(self, kind: str, at: float, subject: str, text: str, **detail: str) -> None:
        self.events.append(Event(kind=kind, at=at, text=text, subject=subject, detail=detail))


def _rollout_of(version: str) -> str:
    for what in ("firmware", "image"):
        if version.startswith(what):
            return f"{what}_rollout"
    return "driver_rollout"
