"""Shared code of checks that judge events: which events still count, and how they are described."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.model.health import Health
from holdfast.model.signal import Event
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window


class Grade(NamedTuple):
    """The health that such events mean, and the text that describes them."""

    health: Health
    events: list[Event]
    reason: Callable[[list[Event]], str]


def node_verdict(window: Window, events: list[Event], *grades: Grade) -> Verdict:
    """The first grade that has events decides about the node; without any it passes. All events are evidence."""
    for health, found, reason in grades:
        if found:
            row = Row(window.node, health, total(found), 0, reason(found))
            break
    else:
        row = Row(window.node, Health.PASS, 0, 0)
    return Verdict(rows=(row,), evidence=describe_all(events, window.now))


def since(window: Window, seconds: float, *kinds: str) -> list[Event]:
    """Events up to this age, oldest first. Repeats of a storm are reported late and must not look new."""
    events = [event for event in window.events(*kinds) if window.now - event.at <= seconds]
    return sorted(events, key=lambda event: event.at)


def total(events: list[Event]) -> int:
    return sum(event.count for event in events)


def counted(number: int, thing: str) -> str:
    """'1 lock-up', '2 lock-ups', '2 processes'."""
    plural = "es" if thing.endswith("s") else "s"
    return f"{number} {thing}{'' if number == 1 else plural}"


def on_devices(events: list[Event], nameless: str = "") -> str:
    """The devices that events are about, each once."""
    return ", ".join(dict.fromkeys(event.device or nameless for event in events))


def code_and_text(events: list[Event], nameless: str = "") -> str:
    """'nvme0n1: medium error [...]' of the last one."""
    last = events[-1]
    return f"{on_devices(events, nameless)}: {str(last.code).replace('_', ' ')} [{last.text}]"


def describe(event: Event, now: float) -> str:
    times = f" ({event.count} times)" if event.count > 1 else ""
    return f"{max(now - event.at, 0):.0f} s ago: {event.text}{times}"


def describe_all(events: list[Event], now: float, most: int = 10) -> tuple[str, ...]:
    """The latest events, oldest first, for a verdict's evidence."""
    return tuple(describe(event, now) for event in events[-most:])
