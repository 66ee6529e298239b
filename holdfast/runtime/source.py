"""Source: reads one interface on its own interval and deadline. ReadingBuilder collects the result of one read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.subject import Subject


class Source(Protocol):
    """The runner owns time, threads and failure; a source only reads."""

    every: float  # seconds between two reads

    @property
    def name(self) -> str: ...
    @property
    def deadline(self) -> float:
        """Seconds after which a read without a result makes the source UNKNOWN."""

    @property
    def carries(self) -> tuple[str, ...]:
        """Names of the signals it provides; they become unknown as soon as the source is blind."""

    def read(self, now: float) -> Reading:
        """Read once. A subject that cannot be read goes into `absent`; if none can be read, the reason goes into
        `blind`. Never raises for
        a missing file, a refused permission or a lost GPU."""


@dataclass(slots=True)
class ReadingBuilder:
    signals: list[Signal] = field(default_factory=list)
    absent: dict[tuple[Subject, str], str] = field(default_factory=dict)

    def add(self, about: Subject, name: str, value: Value) -> None:
        self.signals.append(Signal(about, name, value))

    def miss(self, about: Subject, reason: str, *names: str) -> None:
        for name in names:
            self.absent[(about, name)] = reason

    def merge(self, other: "ReadingBuilder") -> None:
        self.signals.extend(other.signals)
        self.absent.update(other.absent)

    def build(self, source: str, at: float, present: Sequence[Subject] = ()) -> Reading:
        return Reading(source=source, at=at, signals=self.signals, absent=self.absent, present=list(present))
