"""The events of a node: bounded, storms folded into one event with a count, and cleared by a repair.

Each device and code has its own small share of the log, so that a storm of one fault cannot push out another.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event
from holdfast.model.subject import Subject, node

CLEARED = "cleared"  # the kind of event that records a repair of a subject
MAX_EVENTS = 2000
MAX_ALIKE = 64  # events of one kind, device, code and severity; with more, the oldest two are merged
FOLD_SECONDS = 3600.0  # repeats within this time are one event with a count
_OLD_SECONDS = 86400.0  # no check looks further back
_SHED_AT_ONCE = 200
MAX_PROCESSES = 16

# The parts that differ between two messages about the same fault: the process, long numbers, addresses. Short numbers
# (a link, a GPC, a
# port) tell two things apart and stay.
_VARYING = re.compile(r"pid='?[\w<>]+'?,?|name=[^,]*,?|0x[0-9a-fA-F_]+|\b[0-9a-fA-F]{5,}\b|\[\d+\]|\d{4,}")

Key = tuple[str, str, int | str | None, str, str, str]


def key_of(event: Event) -> Key:
    return (event.kind, event.device, event.code, event.severity, event.action, _VARYING.sub("#", event.text))


def processes(event: Event) -> list[str]:
    """The processes that an event names, folded ones included."""
    pids = str(event.detail.get("pids") or event.detail.get("pid") or "")
    return pids.split(",") if pids else []


def merged(earlier: Event, later: Event) -> Event:
    """The later of two events, with the count and the processes of both."""
    pids = list(dict.fromkeys([*processes(earlier), *processes(later)]))[-MAX_PROCESSES:]
    detail = {**later.detail, "pids": ",".join(pids)} if len(pids) > 1 else later.detail
    return replace(later, count=earlier.count + later.count, at=max(earlier.at, later.at), detail=detail)


class _Place(NamedTuple):
    kind: str
    subject: Subject
    device: str
    code: int | str | None
    severity: str


class _Kept(NamedTuple):
    key: Key
    first: float  # time of the first folded event
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
        """An event equal to one of the last hour replaces it and adds its count: a storm of 800,000 lines stays one
        event."""
        key = key_of(event)
        for index in reversed(range(len(alike))):
            kept = alike[index]
            if kept.key == key and abs(event.at - kept.first) <= FOLD_SECONDS:
                del alike[index]
                return _Kept(key, min(kept.first, event.at), self._arrived, merged(kept.event, event))
        self._size += 1
        return _Kept(key, event.at, self._arrived, event)

    def _settle(self, mark: Event, inventory: Inventory) -> None:
        """Drop events of a subject from before its repair. A repair of the node clears all its subjects."""
        everything = mark.subject == node(inventory.node)
        for place, alike in self._places.items():
            if everything or mark.subject in (place.subject, inventory.subject_of(place.device)):
                alike[:] = [kept for kept in alike if kept.event.at > mark.at]
        self._tidy()

    def _shed(self) -> None:
        """Make room: first drop events that no check reads any more, then the oldest events that are not fatal."""
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
