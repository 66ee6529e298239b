"""Events in the window of the seams: a bounded number, with a share for every source."""

from collections import deque
from collections.abc import Iterable

from holdfast.model.signal import Event

MOST_EVENTS = 20_000
MOST_OF_NODE = 1_000
SLACK = MOST_EVENTS // 10  # trimmed only now and then, because it reads all sources


class SeamEvents:
    """Events by source: a node, a user, a device. If there are too many, the largest sources lose their oldest."""

    def __init__(self) -> None:
        self._by_source: dict[str, deque[Event]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, source: str, events: Iterable[Event], most: int = MOST_EVENTS) -> None:
        held = self._by_source.setdefault(source, deque())
        before = len(held)
        held.extend(events)
        while len(held) > most:
            held.popleft()
        self._count += len(held) - before
        if not held:
            del self._by_source[source]
        if self._count > MOST_EVENTS + SLACK:
            self._trim()

    def between(self, first: float, last: float) -> tuple[Event, ...]:
        """Events between two times, in order of time."""
        found = (event for held in self._by_source.values() for event in held if first <= event.at <= last)
        return tuple(sorted(found, key=lambda event: event.at))

    def forget(self, before: float) -> None:
        kept = {
            source: deque(event for event in held if event.at >= before) for source, held in self._by_source.items()
        }
        self._by_source = {source: held for source, held in kept.items() if held}
        self._count = sum(len(held) for held in self._by_source.values())

    def _trim(self) -> None:
        """Trims each source to an equal share. A source with fewer events loses none."""
        left, sources = MOST_EVENTS, len(self._by_source)
        for held in sorted(self._by_source.values(), key=len):
            share = left // sources
            while len(held) > share:
                held.popleft()
            left, sources = left - len(held), sources - 1
        self._by_source = {source: held for source, held in self._by_source.items() if held}
        self._count = MOST_EVENTS - left
