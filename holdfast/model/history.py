"""History: the window's memory on the agent. Bounded by retention per signal and by a cap on events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Value
from holdfast.model.subject import Subject, node
from holdfast.model.window import Run

_Key = tuple[Subject, str]
DEFAULT_KEEP_SECONDS = 900.0
DEFAULT_GOOD_FOR_SECONDS = 60.0
MAX_EVENTS = 2000
MAX_RUNS = 4096
CLEARED = "cleared"  # the kind of event that says a subject was repaired
FORGET_SECONDS = 86400.0
FOLD_AMONG = 64  # how many recent events a new one is compared with


class History:
    """Readings in, windows out. Not thread-safe: one thread owns it."""

    def __init__(self, node_name: str, keep_seconds: Mapping[str, float] | None = None) -> None:
        self.inventory = Inventory(node=node_name)
        self._keep = dict(keep_seconds or {})
        self._runs: dict[str, dict[Subject, list[Run]]] = {}  # signal name -> subject -> runs
        self._absent: dict[_Key, tuple[str, float]] = {}  # why, and when it was last said
        self._source_of: dict[str, str] = {}  # signal name -> source that last carried it
        self._blind: dict[str, str] = {}
        self._good_for: dict[str, float] = {}
        self._events: list[Event] = []

    def expect_freshness(self, source: str, seconds: float) -> None:
        """How old a value of this source may be before it counts as absent."""
        self._good_for[source] = seconds

    def promise(self, source: str, names: Sequence[str]) -> None:
        """Which signals a source is there to carry, so that its blindness can be told before it ever spoke."""
        for name in names:
            self._source_of.setdefault(name, source)

    def add(self, reading: Reading) -> bool:
        """Take a reading in; say whether anything changed (a new value, a new absence, an event)."""
        changed = bool(reading.events) or self._blind.get(reading.source, "") != reading.blind
        self._blind[reading.source] = reading.blind
        for subject, name, value in reading.signals:
            self._source_of[name] = reading.source
            changed |= self._extend((subject, name), value, reading.at)
        for key, reason in reading.absent.items():
            changed |= self._absent.get(key, ("", 0.0))[0] != reason
            self._absent[key] = (reason, reading.at)
            self._source_of[key[1]] = reading.source
        for event in reading.events:
            if event.kind == CLEARED:
                self._forget_events(event)
            else:
                self._fold(event)
        del self._events[:-MAX_EVENTS]
        return changed

    def _forget_events(self, mark: Event) -> None:
        """What happened to a subject before its repair no longer speaks against it; a mark on the node is for all."""
        everything = mark.subject == node(self.inventory.node)
        self._events = [
            event
            for event in self._events
            if event.at > mark.at
            or not (everything or mark.subject in (event.subject, self.inventory.subject_of(event.device)))
        ]

    def _fold(self, event: Event) -> None:
        """An event equal to a recent one adds to its count: a storm of 800,000 lines stays one event."""
        for index in range(len(self._events) - 1, max(-1, len(self._events) - 1 - FOLD_AMONG), -1):
            kept = self._events[index]
            if (kept.kind, kept.device, kept.subject, kept.code, kept.text) == (
                event.kind,
                event.device,
                event.subject,
                event.code,
                event.text,
            ):
                del self._events[index]
                event = replace(event, count=kept.count + event.count, at=max(kept.at, event.at))
                break
        self._events.append(event)

    def _extend(self, key: _Key, value: Value, at: float) -> bool:
        if self._absent:
            self._absent.pop(key, None)
        runs = self._runs.setdefault(key[1], {}).setdefault(key[0], [])
        if runs and runs[-1].value == value:
            runs[-1] = Run(runs[-1].start, max(at, runs[-1].end), value)
            return False
        if runs:  # the old value held until now, as far as anyone can tell
            runs[-1] = Run(
                runs[-1].start, max(runs[-1].end, min(at, runs[-1].end + self._fresh(key[1]))), runs[-1].value
            )
        runs.append(Run(at, at, value))
        oldest = at - self._keep.get(key[1], DEFAULT_KEEP_SECONDS)
        while len(runs) > 1 and (runs[0].end < oldest or len(runs) > MAX_RUNS):
            runs.pop(0)
        return True

    def _fresh(self, name: str) -> float:
        return self._good_for.get(self._source_of.get(name, ""), DEFAULT_GOOD_FOR_SECONDS)

    def prune(self, now: float) -> None:
        """Let go of what nobody has spoken of for a day: jobs end, mounts and devices come and go."""
        oldest = now - FORGET_SECONDS
        for name, by_subject in list(self._runs.items()):
            self._runs[name] = {subject: runs for subject, runs in by_subject.items() if runs[-1].end >= oldest}
        self._absent = {key: said for key, said in self._absent.items() if said[1] >= oldest}

    def window(self, now: float, span: float) -> "View":
        return View(self, now, span)

    def latest(self) -> list[tuple[Subject, str, Value, float]]:
        """Every signal's last value and when it was seen, for `holdfast signals` and /metrics."""
        return [
            (subject, name, runs[-1].value, runs[-1].end)
            for name, by_subject in self._runs.items()
            for subject, runs in by_subject.items()
        ]

    def runs_of(self, subject: Subject, name: str) -> Sequence[Run]:
        return self._runs.get(name, {}).get(subject, ())

    def subjects_with(self, name: str) -> list[Subject]:
        return list(self._runs.get(name, ()))

    def freshest(self, subject: Subject, name: str, now: float) -> Value | None:
        runs = self.runs_of(subject, name)
        if not runs or (subject, name) in self._absent or self.blindness(name):
            return None
        return runs[-1].value if now - runs[-1].end <= self._fresh(name) else None

    def blindness(self, name: str) -> str:
        """Why the source that carries this signal sees nothing at all, or ''."""
        return self._blind.get(self._source_of.get(name, ""), "")

    def sources_of(self, names: Iterable[str]) -> set[str]:
        return {self._source_of[name] for name in names if name in self._source_of}

    def absence(self, subject: Subject, name: str) -> str:
        return self._absent.get((subject, name), ("", 0.0))[0]

    def events_since(self, since: float, kinds: Sequence[str]) -> list[Event]:
        return [event for event in self._events if event.kind in kinds and event.at >= since]

    def blind_sources(self) -> dict[str, str]:
        return {source: why for source, why in self._blind.items() if why}


class View:
    """A Window over a History, as seen at one moment."""

    def __init__(self, history: History, now: float, span: float) -> None:
        self._h = history
        self.now = now
        self.span = span
        self.inventory = history.inventory
        self.node = node(history.inventory.node)
        self.touched: set[str] = set()  # names of the signals that were asked for

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
        since = self.now - self.span
        kept = self._h.runs_of(subject, name)
        return [run if run.start >= since else Run(since, run.end, run.value) for run in kept if run.end >= since]

    def events(self, *kinds: str) -> list[Event]:
        return [
            event if event.subject else replace(event, subject=self.inventory.subject_of(event.device))
            for event in self._h.events_since(self.now - self.span, kinds)
        ]

    def why_absent(self, subject: Subject, name: str) -> str:
        if said := self._h.absence(subject, name) or self._h.blindness(name):
            return said
        if runs := self._h.runs_of(subject, name):
            return f"{name} was last read {self.now - runs[-1].end:.0f} s ago"
        return f"{name} was never read"
