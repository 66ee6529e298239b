"""The rules of a node's life, as the simulation asks for them. The real ones are passed in: holdfast.lifecycle."""

from collections.abc import Callable
from typing import Protocol

from holdfast.model.life import Action, NodeEvent, NodeLife


class Guard(Protocol):
    """Counts the fleet, and says what it bears."""

    def count(self, life: NodeLife, change: int) -> None: ...

    def open(self) -> bool:
        """Whether so many are out that nobody else may be taken out."""

    def spares_wanted(self) -> int:
        """How many tested nodes to hold back now."""


class Rules(Protocol):
    step: Callable[[NodeLife, NodeEvent, float], tuple[NodeLife, list[Action], str]]
    may_climb: Callable[[NodeLife], bool]
    guard: Callable[[], Guard]
