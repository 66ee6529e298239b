"""API types of drills: the shipped ones and the one that is playing."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Protocol

from holdfast.lab.drills.shipped import Shipped


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillRunView:
    """The running drill, or the last one."""

    id: int
    drill: str
    title: str
    seed: int | None
    """None: the drill's own."""
    by: str
    at: float
    state: str
    """playing, done, failed or cancelled."""
    share: float
    """How far it has come, from 0 to 1."""
    reason: str
    """Why it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillsView:
    drills: tuple[Shipped, ...]
    run: DrillRunView | None
    may_play: bool
    """Whether the caller may run a drill: an operator, or any user of a demo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillRequest:
    drill: str
    seed: int | None = None
    """Another than the drill's own."""

    def __post_init__(self) -> None:
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ValueError("seed: expected a whole number from 0 to 4294967295")


class DrillPlayback(Protocol):
    """Plays one drill at a time. Raises Problem for impossible requests."""

    @property
    def run(self) -> DrillRunView | None: ...

    def play(self, ask: DrillRequest, by: str) -> Awaitable[DrillRunView]: ...

    def cancel(self) -> Awaitable[DrillRunView]: ...

    def watch(self) -> AsyncIterator[tuple[str, bytes]]:
        """The run's reports from its beginning to its end, as named JSON."""
        ...
