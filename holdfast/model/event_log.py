"""The events of a node: bounded, storms folded, and what a repair has settled forgotten."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event
from holdfast.model.subject import node

CLEARED = "cleared"  # the kind of event that says a subject was repaired
MAX_EVENTS = 2000
FOLD_AMONG = 64  # how many recent events a new one is compared with


class EventLog:
    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, event: Event, inventory: Inventory) -> None:
        if event.kind == CLEARED:
            self._settle(event, inventory)
            return
        self._events.append(self._folded(event))
        del self._events[:-MAX_EVENTS]

    def since(self, moment: float, kinds: Sequence[str]) -> list[Event]:
        return [event for event in self._events if event.kind in kinds and event.at >= moment]

    def _settle(self, mark: Event, inventory: Inventory) -> None:
        """What happened to a subject before its repair no longer speaks against it; a mark on the node is for all."""
        everything = mark.subject == node(inventory.node)
        self._events = [
            event
            for event in self._events
            if event.at > mark.at
            or not (everything or mark.subject in (event.subject, inventory.subject_of(event.device)))
        ]

    def _folded(self, event: Event) -> Event:
        """Equal to a recent one, it adds to its count: a storm of 800,000 lines stays one event."""
        for index in range(len(self._events) - 1, max(-1, len(self._events) - 1 - FOLD_AMONG), -1):
            kept = self._events[index]
            if _same(kept, event):
                del self._events[index]
                return replace(event, count=kept.count + event.count, at=max(kept.at, event.at))
        return event


def _same(one: Event, other: Event) -> bool:
    return (one.kind, one.device, one.subject, one.code, one.text) == (
        other.kind,
        other.device,
        other.subject,
        other.code,
        other.text,
    )
