"""The controller's window for the seams: bounded columns of signals in memory. It is not stored.

Used only on the event loop. A value holds for some intervals of its source, so that values of every minute and of every
ten seconds share one axis. After that it is unknown.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast.catalog import seam_signals
from holdfast.fleet.incidents.events import MOST_EVENTS, MOST_OF_NODE, SeamEvents
from holdfast.model import subject
from holdfast.model.job import Job
from holdfast.model.panel import Panel, SignalTable, Values
from holdfast.model.signal import Event, Reading
from holdfast.model.wire import digest
from holdfast.model.wire.report import Report

DIGEST_SIGNALS = frozenset(
    {
        "gpu_temperature_celsius",
        "gpu_power_watts",
        "gpu_clock_sm_hertz",
        "gpu_clock_event_reasons",
        "gpu_utilization_ratio",
    }
)
DIGEST_SECONDS = 60.0
HELD_CADENCES = 2.5  # a value is valid for this many intervals of its source
MOST_SUBJECTS = 200_000  # subjects of one signal: 12,500 nodes with eight GPUs, and reserve
MOST_ROWS = 750_000  # limit over all signals: five signals per GPU, and as many again for everything else
MOST_OF_SOURCE = MOST_ROWS // 2  # new rows of one source within the length of the window
MOST_AHEAD_SECONDS = 5.0


@dataclass(slots=True)
class _Rows:
    """One signal: a row per subject in a ring of columns."""

    values: Values
    holds: npt.NDArray[np.float32]  # per subject: seconds for which a value is valid
    places: dict[str, int] = field(default_factory=dict)

    def place(self, about: str) -> int | None:
        known = self.places.get(about)
        if known is not None:
            return known
        if len(self.places) >= MOST_SUBJECTS:
            return None
        if len(self.places) == len(self.values):
            more = np.full((max(8, len(self.values)), self.values.shape[1]), np.nan, np.float32)
            self.values = np.concatenate([self.values, more])
            self.holds = np.concatenate([self.holds, np.zeros(len(more), np.float32)])
        self.places[about] = len(self.places)
        return self.places[about]


class SeamWindow:
    def __init__(self, clock: Callable[[], float], step_seconds: float = 10.0, minutes: float = 90.0) -> None:
        self.step = step_seconds
        self._clock = clock
        self._width = max(2, math.ceil(minutes * 60 / step_seconds))
        self._rows: dict[str, _Rows] = {}
        self._events = SeamEvents()
        self._slot: int | None = None  # the newest column
        self._first: int | None = None  # the oldest column with a value
        self._made: Counter[str] = Counter()  # new rows by source
        self.refused = 0  # values that did not fit

    def put(self, at: float, about: str, name: str, value: float, cadence: float, source: str = "") -> None:
        """Stores a value unless it is too old, in the future or not a number. Each `source` has its own limit. The
        cadence counts for this subject only, because one source must not extend the values of others.
        """
        ahead = not at <= self._clock() + MOST_AHEAD_SECONDS  # one fast clock would push out all other values
        if ahead or not math.isfinite(value) or seam_signals.implausible(name, value):
            return
        slot = int(at // self.step)
        if self._slot is None or slot > self._slot:
            self._advance(slot)
        if self._slot is None or slot <= self._slot - self._width:
            return
        rows = self._rows.get(name)
        if rows is None:
            empty = np.full((8, self._width), np.nan, np.float32)
            rows = self._rows[name] = _Rows(empty, np.zeros(len(empty), np.float32))
        self._first = slot if self._first is None else min(self._first, slot)
        place = rows.places.get(about)
        if place is None:
            place = self._new_place(rows, about, source)
        if place is None:
            self.refused += 1
            return
        rows.values[place, slot % self._width] = value
        rows.holds[place] = max(rows.holds[place], cadence * HELD_CADENCES)

    def _new_place(self, rows: _Rows, about: str, source: str) -> int | None:
        """The row of a new subject; None if the table is full."""
        if source and self._made[source] >= MOST_OF_SOURCE:
            return None
        if sum(len(one.places) for one in self._rows.values()) >= MOST_ROWS:
            return None
        place = rows.place(about)
        if source and place is not None:
            self._made[source] += 1
        return place

    def take(self, reading: Reading, at: float, cadence: float) -> None:
        for signal in reading.signals:
            if isinstance(signal.value, int | float):
                self.put(at, signal.subject, signal.name, float(signal.value), cadence, reading.source)
        self.add_events(reading.events, reading.source)

    def take_report(self, report: Report, at: float) -> None:
        """Takes a node's digest and events, with the time on our clock."""
        if report.digest:
            for (index, name), value in digest.unpack(report.digest).items():
                if name in DIGEST_SIGNALS:
                    self.put(at, subject.gpu(report.node, index), name, value, DIGEST_SECONDS)
        self.add_events(report.events, subject.node(report.node))

    def add_events(self, events: Iterable[Event], source: str) -> None:
        """Stores events. Each `source` has its own share, so that one node pushes out no events of others."""
        self._events.add(source, events, MOST_OF_NODE if source.startswith("node/") else MOST_EVENTS)

    def signals(self, about: str) -> list[str]:
        """The signals of a subject."""
        return sorted(name for name, rows in self._rows.items() if about in rows.places)

    def subjects(self, name: str = "") -> set[str]:
        """The subjects of one signal, or of all."""
        chosen = [self._rows[name]] if name in self._rows else [] if name else list(self._rows.values())
        return {about for rows in chosen for about in rows.places}

    def series(self, name: str, wanted: Iterable[str]) -> tuple[list[float], dict[str, list[float | None]]]:
        """Times and values of some subjects; only their rows are copied. None without values."""
        self._advance(int(self._clock() // self.step))
        rows = self._rows.get(name)
        known = [about for about in wanted if rows is not None and about in rows.places]
        if rows is None or not known or self._slot is None or self._first is None:
            return [], {}
        slots = np.arange(max(self._slot - self._width + 1, self._first), self._slot + 1)
        places = [rows.places[about] for about in known]
        filled = held(rows.values[places][:, slots % self._width], self._held_columns(rows.holds[places]))
        found = {
            about: [None if math.isnan(value) else float(value) for value in row]
            for about, row in zip(known, filled, strict=True)
        }
        return [float(at) for at in slots * self.step], found

    def panel(self, jobs: tuple[Job, ...] = ()) -> Panel:
        """A copy up to now, so that another thread can evaluate it."""
        now = self._clock()
        self._advance(int(now // self.step))
        assert self._slot is not None
        first = max(self._slot - self._width + 1, self._first if self._first is not None else self._slot)
        slots = np.arange(first, self._slot + 1)
        times = slots * self.step
        tables = {name: self._table(rows, slots) for name, rows in self._rows.items() if rows.places}
        self._events.forget(float((self._slot - self._width + 1) * self.step))
        events = self._events.between(float(times[0]), now + MOST_AHEAD_SECONDS)
        return Panel(times.astype(np.float64), tables, events, jobs)

    def _table(self, rows: _Rows, slots: npt.NDArray[np.int64]) -> SignalTable:
        values, holds = rows.values[: len(rows.places)], rows.holds[: len(rows.places)]
        return SignalTable(tuple(rows.places), held(values[:, slots % self._width], self._held_columns(holds)))

    def _held_columns(self, holds: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """A column of numbers, one per row."""
        columns: npt.NDArray[np.int64] = np.maximum(1, np.rint(holds / self.step)).astype(np.int64)
        return columns[:, np.newaxis]

    def _advance(self, slot: int) -> None:
        """Advances the window. New columns are empty; after a long silence all of them are."""
        if self._slot is None:
            self._slot = slot
            return
        new = slot - self._slot
        if new <= 0:
            return
        columns = [(self._slot + 1 + one) % self._width for one in range(min(new, self._width))]
        for rows in self._rows.values():
            rows.values[:, columns] = np.nan
        self._slot = slot
        if slot % self._width < new:
            self._forget_the_unseen()

    def _forget_the_unseen(self) -> None:
        """Drops subjects without values in the window, once per length of the window."""
        self._made.clear()
        for name, rows in list(self._rows.items()):
            seen = np.flatnonzero(~np.isnan(rows.values[: len(rows.places)]).all(axis=1))
            if len(seen) == len(rows.places):
                continue
            subjects = list(rows.places)
            kept = [subjects[place] for place in seen]
            if not kept:
                del self._rows[name]
                continue
            rows.values, rows.holds = rows.values[seen], rows.holds[seen]
            rows.places = {about: place for place, about in enumerate(kept)}


def held(values: Values, most: int | npt.NDArray[np.int64]) -> Values:
    """Extends every value until the next one, for at most this many columns of its row."""
    columns = np.arange(values.shape[1])
    last = np.where(np.isnan(values), -1, columns)
    np.maximum.accumulate(last, axis=1, out=last)
    filled = np.take_along_axis(values, np.maximum(last, 0), axis=1)
    return np.where((last >= 0) & (columns - last <= most), filled, np.nan).astype(np.float32)
