"""Notes: what one read gathers, signal by signal, before it becomes a Reading."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.subject import Subject


@dataclass(slots=True)
class Notes:
    signals: list[Signal] = field(default_factory=list)
    absent: dict[tuple[Subject, str], str] = field(default_factory=dict)

    def say(self, about: Subject, name: str, value: Value) -> None:
        self.signals.append(Signal(about, name, value))

    def miss(self, about: Subject, reason: str, *names: str) -> None:
        for name in names:
            self.absent[(about, name)] = reason

    def add(self, other: "Notes") -> None:
        self.signals.extend(other.signals)
        self.absent.update(other.absent)

    def reading(self, source: str, at: float, present: Sequence[Subject] = ()) -> Reading:
        return Reading(source=source, at=at, signals=self.signals, absent=self.absent, present=list(present))
