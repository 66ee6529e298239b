"""History: the signals and events that an agent keeps, bounded by retention per signal and a cap on events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.model.event_log import EventLog
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Value
from holdfast.model.subject import Subject, node
from holdfast.model.window import Run

_Key = tuple[Subject, str]
DEFAULT_KEEP_SECONDS = 900.0
DEFAULT_GOOD_FOR_SECONDS = 60.0
FORGET_SECONDS = 86400.0
MAX_RUNS = 4096


class Series:
    """One signal of one subject, stored as runs. The current run is extended in place, because most values hold."""

    __slots__ = ("end", "past", "start", "value")

    def __init__(self, at: float, value: Value) -> None:
        self.past: list[Run] = []
        self.start = self.end = at
        self.value = value

    def change(self, value: Value, at: float, holds: float, keep: float) -> None:
        """Stores a new value. The old value counts as unchanged until now, but at most for its freshness."""
        until = max(self.end, min(at, self.end + holds))
        self.past.append(Run(self.start, until, self.value))
        self.start = self.end = max(at, until)
        self.value = value
        oldest = at - keep
        while self.past and (self.past[0].end < oldest or len(self.past) >= MAX_RUNS):
            self.past.pop(0)

    def runs(self, since: float) -> list[Run]:
        """The runs that reach into the span, clipped to it."""
        found = [run if run.start >= since else Run(since, run.end, run.value) for run in self.past if run.end >= since]
        if self.end >= since:
            found.append(Run(max(self.start, since), self.end, self.value))
        return found


class History:
    """Readings in, windows out. Not thread-safe: one thread owns it."""

    def __init__(self, node_name: str, keep_seconds: Mapping[str, float] | None = None) -> None:
        self.inventory = Inventory(node=node_name)
        self._keep = dict(keep_seconds or {})
        self._series: dict[str, dict[Subject, Series]] = {}  # signal name -> subject -> its runs
        self._absent: dict[_Key, tuple[str, float]] = {}  # the reason, and when it was last reported
        self._source_of: dict[str, str] = {}  # signal name -> source that last carried it
        self._blind: dict[str, str] = {}
        self._good_for: dict[str, float] = {}
        self._events = EventLog()

    def expect_freshness(self, source: str, seconds: float) -> None:
        """How old a value of this source may be before it counts as absent."""
        self._good_for[source] = seconds

    def promise(self, source: str, names: Sequence[str]) -> None:
        """Register the signals that a source provides, so that a missing one is noticed at once."""
        for name in names:
            self._source_of.setdefault(name, source)

    def add(self, reading: Reading) -> bool:
        """Add a reading; return whether anything changed (a new value, a new absence, an event)."""
        changed = bool(reading.events) or self._blind.get(reading.source, "") != reading.blind
        self._blind[reading.source] = reading.blind
        changed |= self._take_signals(reading)
        for key, reason in reading.absent.items():
            changed |= self._absent.get(key, ("", 0.0))[0] != reason
            self._absent[key] = (reason, reading.at)
            self._source_of[key[1]] = reading.source
        for event in reading.events:
            self._events.add(event, self.inventory)
        return changed

    def _take_signals(self, reading: Reading) -> bool:
        """Takes one value: two dictionary reads and no allocation if it is unchanged. The agent's innermost loop."""
        changed, at, all_series, absent = False, reading.at, self._series, self._absent
        for subject, name, value in reading.signals:
            by_subject = all_series.get(name)
            if by_subject is None:
                by_subject = all_series[name] = {}
                self._source_of[name] = reading.source
            kept = by_subject.get(subject)
            if absent and (subject, name) in absent:
                del absent[(subject, name)]
                changed = True
            if kept is None:
                by_subject[subject] = Series(at, value)
                changed = True
            elif kept.value == value:
                if at > kept.end:
                    kept.end = at
            else:
                kept.change(value, at, self.fresh_seconds(name), self._keep.get(name, DEFAULT_KEEP_SECONDS))
                changed = True
        return changed

    def fresh_seconds(self, name: str) -> float:
        """How old a value of this signal may be."""
        return self._good_for.get(self._source_of.get(name, ""), DEFAULT_GOOD_FOR_SECONDS)

    def prune(self, now: float) -> None:
        """Drop signals that no source has reported for a day: jobs end, mounts and devices disappear."""
        oldest = now - FORGET_SECONDS
        for name, by_subject in list(self._series.items()):
            self._series[name] = {subject: kept for subject, kept in by_subject.items() if kept.end >= oldest}
        self._absent = {key: reason for key, reason in self._absent.items() if reason[1] >= oldest}

    def window(self, now: float, span: float) -> "HistoryWindow":
        return HistoryWindow(self, now, span)

    def latest(self, now: float | None = None) -> list[tuple[Subject, str, Value, float]]:
        """Every signal with its last value and time; with `now`, only fresh ones."""
        return [
            (subject, name, kept.value, kept.end)
            for name, by_subject in self._series.items()
            for subject, kept in by_subject.items()
            if now is None or self.freshest(subject, name, now) is not None
        ]

    def series(self, subject: Subject, name: str) -> Series | None:
        by_subject = self._series.get(name)
        return by_subject.get(subject) if by_subject else None

    def subjects_with(self, name: str) -> list[Subject]:
        return list(self._series.get(name, ()))

    def freshest(self, subject: Subject, name: str, now: float) -> Value | None:
        """The last value, if it is still fresh. The source's cadence decides that, never the span of a check."""
        kept = self.series(subject, name)
        if kept is None or (subject, name) in self._absent or self.blindness(name):
            return None
        return kept.value if now - kept.end <= self.fresh_seconds(name) else None

    def blindness(self, name: str) -> str:
        """Why the source of this signal cannot read anything, or ''."""
        return self._blind.get(self._source_of.get(name, ""), "")

    def sources_of(self, names: Iterable[str]) -> set[str]:
        return {self._source_of[name] for name in names if name in self._source_of}

    def absence(self, subject: Subject, name: str) -> str:
        return self._absent.get((subject, name), ("", 0.0))[0]

    def events_since(self, since: float, kinds: Sequence[str]) -> list[Event]:
        return self._events.since(since, kinds)

    def blind_sources(self) -> dict[str, str]:
        return {source: why for source, why in self._blind.items() if why}


class HistoryWindow:
    """A Window over a History, as seen at one moment."""

    def __init__(self, history: History, now: float, span: float) -> None:
        self._h = history
        self.now = now
        self.span = span
        self.inventory = history.inventory
        self.node = node(history.inventory.node)
        self.touched: set[str] = set()  # names of the signals that the check requested

    def value(self, subject: Subject, name: str) -> Value | None:
        self.touched.add(name)
        return self._h.freshest(subject, name, self.now)

    def number(self, subject: Subject, name: str) -> float | None:
        value = self.value(subject, name)
        return value if isinstance(value, int | float) else None

    def values(self, name: str) -> dict[Subject, float]:
        self.touched.add(name)
        found = {subject: self.number(subject, name) for subject in self._h.subjects_with(name)}
        return {subject: number for subject, number in found.items() if number is not None}

    def runs(self, subject: Subject, name: str) -> Sequence[Run]:
        self.touched.add(name)
        kept = self._h.series(subject, name)
        reach = max(self.span, self._h.fresh_seconds(name))  # a value that counts as fresh is inside every span
        return kept.runs(self.now - reach) if kept else []

    def events(self, *kinds: str) -> list[Event]:
        return [
            event if event.subject else replace(event, subject=self.inventory.subject_of(event.device))
            for event in self._h.events_since(self.now - self.span, kinds)
        ]

    def why_absent(self, subject: Subject, name: str) -> str:
        if reason := self._h.absence(subject, name) or self._h.blindness(name):
            return reason
        if kept := self._h.series(subject, name):
            return f"{name} was last read {self.now - kept.end:.0f} s ago"
        return f"{name} was never read"
