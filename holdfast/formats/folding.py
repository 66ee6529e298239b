"""Storms: lines that say the same of the same device are one event with a count."""

from collections.abc import Iterable
from dataclasses import replace

from holdfast.model.event_fold import MAX_PROCESSES, Key, key_of
from holdfast.model.signal import Event

MAX_DISTINCT = 4096


def is_state(event: Event) -> bool:
    """Whether the event tells a state that another takes back (link down and up), so that their order matters."""
    return event.kind in ("link", "storage") or str(event.code).startswith("module_")


class Folder:
    """Counts equal events. Its size is bounded: beyond MAX_DISTINCT, texts no longer keep events apart."""

    def __init__(self) -> None:
        self._first: dict[Key, Event] = {}
        self._counts: dict[Key, int] = {}
        self._pids: dict[Key, dict[str, None]] = {}
        self._states: dict[tuple[str, str], tuple[int | str | None, int]] = {}

    def add(self, event: Event) -> None:
        key = self._key(event)
        self._first.setdefault(key, event)
        self._counts[key] = self._counts.get(key, 0) + event.count
        if pid := event.detail.get("pid"):
            pids = self._pids.setdefault(key, {})
            if len(pids) < MAX_PROCESSES:
                pids[str(pid)] = None

    def _key(self, event: Event) -> Key:
        key = key_of(event)
        if is_state(event):  # down, up, down are three events, however alike the first and the last
            code, turn = self._states.get((event.kind, event.device), (event.code, 0))
            turn += code != event.code
            self._states[event.kind, event.device] = (event.code, turn)
            key = (*key[:5], f"{turn} {key[5]}")
        if key not in self._first and len(self._first) >= MAX_DISTINCT:
            key = (*key[:5], "")
        return key

    def extend(self, events: Iterable[Event]) -> None:
        for event in events:
            self.add(event)

    def take(self) -> list[Event]:
        """Everything folded so far, in order of first sight; the folder is empty afterwards."""
        out = [self._with_count(key, event) for key, event in self._first.items()]
        self._first, self._counts, self._pids, self._states = {}, {}, {}, {}
        return out

    def _with_count(self, key: Key, event: Event) -> Event:
        pids = self._pids.get(key, {})
        detail = {**event.detail, "pids": ",".join(pids)} if len(pids) > 1 else event.detail
        return replace(event, count=self._counts[key], detail=detail)
