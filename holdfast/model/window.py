"""Window: signals and events of some subjects over a time span, with what the inventory expects.

A signal is stored as runs: a value, when it was first seen and when it was last seen.
A constant signal costs one run however long it lasts, which keeps the agent's memory small.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Value
from holdfast.model.subject import Subject


class Run(NamedTuple):
    start: float  # first seen with this value
    end: float  # last seen with this value
    value: Value


class Window(Protocol):
    """The input of a check. Implemented by history.View on the agent, by columns in the controller."""

    @property
    def now(self) -> float: ...
    @property
    def span(self) -> float: ...
    @property
    def node(self) -> Subject: ...
    @property
    def inventory(self) -> Inventory: ...

    def value(self, subject: Subject, name: str) -> Value | None:
        """The freshest value, or None when it is absent or stale."""

    def number(self, subject: Subject, name: str) -> float | None:
        """The freshest value if it is a number."""

    def values(self, name: str) -> dict[Subject, float]:
        """The freshest number of every subject that has one."""

    def runs(self, subject: Subject, name: str) -> Sequence[Run]:
        """Every run inside the span, oldest first, clipped to it."""

    def events(self, *kinds: str) -> list[Event]:
        """Events of these kinds inside the span, oldest first, with their subject resolved."""

    def why_absent(self, subject: Subject, name: str) -> str:
        """Why there is no fresh value: the source's reason, or that no source reads it."""


def increase(runs: Sequence[Run]) -> float:
    """How much a counter grew over its runs. A lower value means a reset: the counter then restarts from 0."""
    total = 0.0
    for before, after in itertools.pairwise(runs):
        step = float(after.value) - float(before.value)
        total += step if step >= 0 else float(after.value)
    return total


def minutes_where(runs: Sequence[Run], mask: int) -> tuple[int, int]:
    """(minutes with any bit of the mask set, minutes seen): a minute counts if any of its samples is bad."""
    seen: set[int] = set()
    hit: set[int] = set()
    for run in runs:
        minutes = range(int(run.start // 60), int(run.end // 60) + 1)
        seen.update(minutes)
        if int(float(run.value)) & mask:
            hit.update(minutes)
    return len(hit), len(seen)
