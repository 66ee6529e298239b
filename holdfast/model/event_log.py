"""The events of a node: bounded, storms folded, and what a repair has settled forgotten.

What is said of one device with one code has its own small place, so that a talkative fault cannot push out another.
"""

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.model.event_fold import Key, key_of, merged
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event
from holdfast.model.subject import Subject, node

CLEARED = "cleared"  # the kind of event that says a subject was repaired
MAX_EVENTS = 2000
MAX_ALIKE = 64  # of one kind, device, code and severity; beyond it the oldest two become one
FOLD_SECONDS = 3600.0  # repeats are one event with a count for so long, so that a count says something of its time
_OLD_SECONDS = 86400.0  # no check looks further back
_SHED_AT_ONCE = 200


class _Place(NamedTuple):
    kind: str
    subject: Subject
    device: str
    code: int | str | None
    severity: str


class _Kept(NamedTuple):
    key: Key
    first: float  # when the first of what is folded here happened
    arrived: int  # orders events of one moment
    event: Event


class EventLog:
    def __init__(self) -> None:
        self._places: dict[_Place, list[_Kept]] = {}
        self._size = 0
        self._arrived = 0

    def add(self, event: Event, inventory: Inventory) -> None:
        if event.kind == CLEARED:
            self._settle(event, inventory)
            return
        self._arrived += 1
        place = _Place(event.kind, event.subject, event.device, event.code, event.severity)
        alike = self._places.setdefault(place, [])
        alike.append(self._folded(alike, event))
        if len(alike) > MAX_ALIKE:
            oldest, next_oldest = alike[:2]
            alike[:2] = [next_oldest._replace(event=merged(oldest.event, next_oldest.event))]
            self._size -= 1
        if self._size > MAX_EVENTS:
            self._shed()

    def since(self, moment: float, kinds: Sequence[str]) -> list[Event]:
        """Events of these kinds that are not older, oldest first."""
        found = [
            kept
            for place, alike in self._places.items()
            if place.kind in kinds
            for kept in alike
            if kept.event.at >= moment
        ]
        return [kept.event for kept in sorted(found, key=lambda kept: (kept.event.at, kept.arrived))]

    def _folded(self, alike: list[_Kept], event: Event) -> _Kept:
        """Equal to one of the last hour, it takes its place and its count: a storm of 800,000 lines stays one event."""
        key = key_of(event)
        for index in reversed(range(len(alike))):
            kept = alike[index]
            if kept.key == key and abs(event.at - kept.first) <= FOLD_SECONDS:
                del alike[index]
                return _Kept(key, min(kept.first, event.at), self._arrived, merged(kept.event, event))
        self._size += 1
        return _Kept(key, event.at, self._arrived, event)

    def _settle(self, mark: Event, inventory: Inventory) -> None:
        """What happened to a subject before its repair no longer speaks against it; a mark on the node is for all."""
        everything = mark.subject == node(inventory.node)
        for place, alike in self._places.items():
            if everything or mark.subject in (place.subject, inventory.subject_of(place.device)):
                alike[:] = [kept for kept in alike if kept.event.at > mark.at]
        self._tidy()

    def _shed(self) -> None:
        """Make room: what no check looks at any more goes first, then the oldest of what is not fatal."""
        everything = [(place, kept) for place, alike in self._places.items() for kept in alike]
        recent = max(kept.event.at for _, kept in everything) - _OLD_SECONDS
        everything.sort(
            key=lambda one: (one[1].event.at >= recent, one[0].severity == "fatal", one[1].event.at, one[1].arrived)
        )
        for place, kept in everything[:_SHED_AT_ONCE]:
            self._places[place].remove(kept)
        self._tidy()

    def _tidy(self) -> None:
        self._places = {place: alike for place, alike in self._places.items() if alike}
        self._size = sum(map(len, self._places.values()))
