"""Folds equal lines about one device into one event with a count, until something changes between them."""

from collections.abc import Iterable
from dataclasses import replace

from holdfast.model.event_log import MAX_PROCESSES, Key, key_of
from holdfast.model.signal import Event

MAX_DISTINCT = 4096
_RECOVERY = 154  # the Xid
_POWER_SMOOTHING = (162, 163)  # on, off


def state_of(event: Event) -> tuple[str, int | str | None] | None:
    """(subject, state) of an event that reports a reversible state (link down and up), whose order matters."""
    if event.kind in ("link", "storage") or str(event.code).startswith("module_"):
        return event.kind, event.code
    if event.kind == "xid" and event.code == _RECOVERY:
        return "recovery", event.action
    if event.kind == "xid" and event.code in _POWER_SMOOTHING:
        return "power_smoothing", event.code
    return None


def ends_a_fault(event: Event) -> bool:
    """Whether the driver reports that no action is needed any more: the same fault after it is a new one."""
    return event.kind == "xid" and event.code == _RECOVERY and event.action == "ignore"


class EventFolder:
    """Counts equal events. Its size is bounded: beyond MAX_DISTINCT, events are no longer distinguished by text."""

    def __init__(self, span_seconds: float = 0.0) -> None:
        """`span_seconds` 0 is for a file: all of it is one span, and events have the time of their first line.

        A stream is cut into spans, so that counts have a time. Events have the time of their last line, because that
        decides whether a repair came after it.
        """
        self._span = span_seconds
        self._clear()

    def _clear(self) -> None:
        self._first: dict[Key, Event] = {}
        self._last_at: dict[Key, float] = {}
        self._counts: dict[Key, int] = {}
        self._pids: dict[Key, dict[str, None]] = {}
        self._states: dict[tuple[str, str], tuple[int | str | None, int]] = {}
        self._faults_ended: dict[str, int] = {}

    def add(self, event: Event) -> None:
        key = self._key(event)
        self._first.setdefault(key, event)
        self._last_at[key] = max(self._last_at.get(key, 0.0), event.at)
        self._counts[key] = self._counts.get(key, 0) + event.count
        if pid := event.detail.get("pid"):
            pids = self._pids.setdefault(key, {})
            if len(pids) < MAX_PROCESSES:
                pids[str(pid)] = None

    def _key(self, event: Event) -> Key:
        key = key_of(event)
        span = int(event.at // self._span) if self._span else 0
        key = (*key[:5], f"{span} {self._phase(event)} {key[5]}")
        if key not in self._first and len(self._first) >= MAX_DISTINCT:
            key = (*key[:5], "")
        return key

    def _phase(self, event: Event) -> int:
        """Number of state changes so far: down, up, down are three events, and so are a fault, its end, and the
        fault again."""
        ended = self._faults_ended.get(event.device, 0)
        if ends_a_fault(event):
            self._faults_ended[event.device] = ended + 1
        if (state := state_of(event)) is None:
            return ended
        what, now = state
        before, phase = self._states.get((what, event.device), (now, 0))
        phase += before != now
        self._states[what, event.device] = (now, phase)
        return phase

    def extend(self, events: Iterable[Event]) -> None:
        for event in events:
            self.add(event)

    def take(self) -> list[Event]:
        """Returns all folded events in order of first appearance, and empties the folder."""
        out = [self._with_count(key, event) for key, event in self._first.items()]
        self._clear()
        return out

    def _with_count(self, key: Key, event: Event) -> Event:
        pids = self._pids.get(key, {})
        detail = {**event.detail, "pids": ",".join(pids)} if len(pids) > 1 else event.detail
        at = self._last_at[key] if self._span else event.at
        return replace(event, at=at, count=self._counts[key], detail=detail)
