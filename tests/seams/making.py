"""Words for tables of small worlds: each makes one change, `of` makes several."""

from collections.abc import Callable
from typing import Any

from holdfast.model.signal import Event
from holdfast.model.topology import Edge

Make = Callable[[Any], object]
START = -2.0  # where a candidate's score begins


def of(*made: Make) -> Make:
    return lambda world: [one(world) for one in made]


def change(signal: str, *subjects: str, **how: Any) -> Make:
    return lambda world: world.change(signal, *subjects, **how)


def linked(*edges: Edge) -> Make:
    return lambda world: world.link(*edges)


def measured(signal: str, usual: dict[str, float]) -> Make:
    return lambda world: world.add(signal, usual)


def without(signal: str) -> Make:
    return lambda world: world.tables.pop(signal)


def gpus(signal: str, nodes: tuple[str, ...], **how: Any) -> Make:
    return lambda world: world.gpus(signal, *nodes, **how)


def hot(nodes: tuple[str, ...], **how: Any) -> Make:
    return lambda world: world.hot(*nodes, **how)


def happens(kind: str, subject: str, at: float, code: Any = "", **detail: Any) -> Make:
    event = Event(kind=kind, at=at, text="", subject=subject, code=code, detail=detail)
    return lambda world: world.events.append(event)


def nodes(first: int, last: int) -> tuple[str, ...]:
    return tuple(f"node/n{number}" for number in range(first, last + 1))
