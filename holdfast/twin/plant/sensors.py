"""Sensors that lie: they stick, drift, say absurd things or nothing, or their whole domain's clock is wrong."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast.twin.plant.fault import Distractor, Fault
from holdfast.twin.plant.measure import Column

ABSURD = (-999.0, 65535.0)
USUAL_SIGNAL = {
    "cdu": "cdu_flow_litres_per_minute", "rack": "rack_flow_litres_per_minute", "room": "ambient_celsius",
    "node": "node_inlet_celsius", "gpu": "gpu_temperature_celsius",
}  # fmt: skip
HOUR = 3600.0


@dataclass
class Sensors:
    subjects: Mapping[str, tuple[str, ...]]
    faults: tuple[Fault, ...]
    distractors: tuple[Distractor, ...]
    step_seconds: float
    _held: dict[int, float] = field(default_factory=dict)
    _past: dict[int, deque[Column]] = field(default_factory=dict)

    def corrupt(self, now: float, column: Column) -> None:
        """What is reported instead of what was measured, in place."""
        for number, fault in enumerate(self.faults):
            if fault.kind == "sensor.clock":
                self._late(number, fault, now, column)
            elif fault.kind.startswith("sensor.") and fault.level(now) > 0:
                row = column[fault.signal]
                place = self.subjects[fault.signal].index(fault.subject)
                row[place] = self._lie(number, fault, now, float(row[place]))
        for one in self.distractors:
            if one.kind == "sensor_gap" and one.active(now):
                column[one.signal][self.subjects[one.signal].index(one.subject)] = np.nan

    def _lie(self, number: int, fault: Fault, now: float, value: float) -> float:
        held = self._held.setdefault(number, value)
        if fault.kind == "sensor.stuck":
            return held
        if fault.kind == "sensor.lost":
            return float("nan")
        if fault.kind == "sensor.absurd":
            return ABSURD[int(now // self.step_seconds) % 2]
        return value + fault.magnitude * abs(held) * (now - fault.start) / HOUR

    def _late(self, number: int, fault: Fault, now: float, column: Column) -> None:
        """The domain shows what was true some time ago, as readings with a wrong clock do."""
        mine = [name for name, who in self.subjects.items() if who and who[0].startswith(fault.subject + "/")]
        past = self._past.setdefault(number, deque(maxlen=int(fault.magnitude / self.step_seconds) + 1))
        past.append({name: column[name].copy() for name in mine})
        if fault.level(now) <= 0:
            return
        known = len(past) == past.maxlen
        for name in mine:
            column[name] = past[0][name].copy() if known else _blank(column[name])


def _blank(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.full_like(values, np.nan)
