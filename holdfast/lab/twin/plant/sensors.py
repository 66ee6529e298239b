"""Faulty sensors: stuck, drifting, absurd or silent, or a wrong clock of a whole domain."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from holdfast.lab.twin.plant.fault import Distractor, PlantFault
from holdfast.lab.twin.plant.measure import Column

ABSURD = (-999.0, 65535.0)
USUAL_SIGNAL = {
    "cdu": "cdu_flow_litres_per_minute", "rack": "rack_flow_litres_per_minute", "room": "ambient_celsius",
    "node": "node_inlet_celsius", "gpu": "gpu_temperature_celsius",
}  # fmt: skip
HOUR = 3600.0


@dataclass
class Sensors:
    subjects: Mapping[str, tuple[str, ...]]
    faults: tuple[PlantFault, ...]
    distractors: tuple[Distractor, ...]
    step_seconds: float
    _held: dict[int, float] = field(default_factory=dict)

    def corrupt(self, now: float, column: Column) -> None:
        """Replaces measured values by those of faulty sensors, in place."""
        for number, fault in enumerate(self.faults):
            if not fault.kind.startswith("sensor.") or fault.level(now) <= 0:
                continue
            if fault.kind == "sensor.clock":
                self._late(fault, column)
            else:
                row = column[fault.signal]
                place = self.subjects[fault.signal].index(fault.subject)
                row[place] = self._lie(number, fault, now, float(row[place]))
        for one in self.distractors:
            if one.kind == "sensor_gap" and one.active(now):
                column[one.signal][self.subjects[one.signal].index(one.subject)] = np.nan

    def _lie(self, number: int, fault: PlantFault, now: float, value: float) -> float:
        held = self._held.setdefault(number, value)
        if fault.kind == "sensor.stuck":
            return held
        if fault.kind == "sensor.lost":
            return float("nan")
        if fault.kind == "sensor.absurd":
            return ABSURD[int(now // self.step_seconds) % 2]
        return value + fault.magnitude * abs(held) * (now - fault.start) / HOUR

    def _late(self, fault: PlantFault, column: Column) -> None:
        """Files readings under a past time because their clock is late: the present of that domain is empty."""
        for name, who in self.subjects.items():
            if who and who[0].startswith(fault.subject + "/"):
                column[name][:] = np.nan
