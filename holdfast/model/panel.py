"""Panel: the window that seam rules evaluate, in columns. One table per signal, a row per subject, a column per time.

Only this module and the code that evaluates panels use NumPy; the agent and the base install never import it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.model.job import Job
from holdfast.model.signal import Event
from holdfast.model.subject import Subject

Times = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]


@dataclass(frozen=True)
class SignalTable:
    """One signal of many subjects: values[subject, moment], NaN without a reading."""

    subjects: tuple[Subject, ...]
    values: Values
    learned: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    """What was worked out about all rows together, kept for the next who asks."""

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[0] != len(self.subjects):
            raise ValueError(f"a table of {len(self.subjects)} subjects has values of shape {self.values.shape}")

    @cached_property
    def index(self) -> dict[Subject, int]:
        return {subject: place for place, subject in enumerate(self.subjects)}

    def row(self, subject: Subject) -> Values | None:
        place = self.index.get(subject)
        return None if place is None else self.values[place]


@dataclass(frozen=True)
class Panel:
    """The input of the seam rules: signals over one regular time axis, events, jobs."""

    times: Times
    tables: Mapping[str, SignalTable] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    jobs: tuple[Job, ...] = ()

    def __post_init__(self) -> None:
        for signal, table in self.tables.items():
            if table.values.shape[1] != len(self.times):
                raise ValueError(f"{signal}: {table.values.shape[1]} columns over {len(self.times)} moments")

    @property
    def step(self) -> float:
        """Seconds between two columns."""
        return float(self.times[1] - self.times[0]) if len(self.times) > 1 else 0.0

    @property
    def now(self) -> float:
        return float(self.times[-1]) if len(self.times) else 0.0

    def of(self, signal: str) -> SignalTable:
        """The table of a signal; it has no rows if the signal is not measured."""
        return self.tables.get(signal) or SignalTable((), np.empty((0, len(self.times)), np.float32))

    def row(self, signal: str, subject: Subject) -> Values | None:
        return self.of(signal).row(subject)

    def events_of(self, *kinds: str) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.kind in kinds)

    def last(self, seconds: float) -> "Panel":
        """The panel's last seconds; arrays are views, nothing is copied."""
        return self._cut(int(np.searchsorted(self.times, self.now - seconds)), len(self.times))

    def until(self, moment: float) -> "Panel":
        """The panel up to a moment, for a replay."""
        return self._cut(0, int(np.searchsorted(self.times, moment, side="right")))

    def _cut(self, first: int, end: int) -> "Panel":
        times = self.times[first:end]
        tables = {name: SignalTable(table.subjects, table.values[:, first:end]) for name, table in self.tables.items()}
        low, high = (float(times[0]) - self.step, float(times[-1])) if len(times) else (0.0, -1.0)
        events = tuple(event for event in self.events if low < event.at <= high)
        return replace(self, times=times, tables=tables, events=events)


def table(rows: Mapping[Subject, Iterable[float]]) -> SignalTable:
    """A table from rows by subject, for small panels."""
    values = np.array([list(row) for row in rows.values()], np.float32)
    return SignalTable(tuple(rows), values if rows else np.empty((0, 0), np.float32))
