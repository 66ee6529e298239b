"""What checks that judge events have in common: which events still count, and how one is told to a person."""

from holdfast.model.signal import Event
from holdfast.model.window import Window


def since(window: Window, seconds: float, *kinds: str) -> list[Event]:
    """Events not older than this, oldest first. Counted repeats of a storm are told late and must not look new."""
    events = [event for event in window.events(*kinds) if window.now - event.at <= seconds]
    return sorted(events, key=lambda event: event.at)


def total(events: list[Event]) -> int:
    return sum(event.count for event in events)


def counted(number: int, thing: str) -> str:
    """'1 lock-up', '2 lock-ups', '2 processes'."""
    plural = "es" if thing.endswith("s") else "s"
    return f"{number} {thing}{'' if number == 1 else plural}"


def told(event: Event, now: float) -> str:
    times = f" ({event.count} times)" if event.count > 1 else ""
    return f"{max(now - event.at, 0):.0f} s ago: {event.text}{times}"


def tell(events: list[Event], now: float, most: int = 10) -> tuple[str, ...]:
    """The latest events, oldest first, for a verdict's evidence."""
    return tuple(told(event, now) for event in events[-most:])
