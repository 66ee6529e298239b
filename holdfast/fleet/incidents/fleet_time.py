"""Fleet time: the clock of windows and findings. In a demo it runs faster than the wall clock by a constant factor."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.model.account import Account


@dataclass(frozen=True, slots=True)
class FleetTime:
    began: float
    """Moment at which both clocks show the same time."""
    factor: float = 1.0

    def lived(self, at: float) -> float:
        """Converts wall-clock time to fleet time."""
        return self.began + (at - self.began) * self.factor

    def clock(self, lived: float) -> float:
        """Converts fleet time to wall-clock time."""
        return self.began + (lived - self.began) / self.factor

    def as_lived(self, stored: Account) -> Account:
        """Converts an account from the store (wall-clock time) to fleet time."""
        return stored if self.factor == 1 else _moved(stored, self.lived, self.factor)

    def on_the_clock(self, reported: Account) -> Account:
        """Converts an account to wall-clock time, for the store."""
        return reported if self.factor == 1 else _moved(reported, self.clock, 1 / self.factor)


def _moved(of: Account, moment: Callable[[float], float], factor: float) -> Account:
    """Converts moments and the step of charts. Hours are always in fleet time."""

    def at(one: float | None) -> float | None:
        return None if one is None else moment(one)

    return replace(
        of,
        since=moment(of.since),
        timeline=tuple(replace(one, at=moment(one.at)) for one in of.timeline),
        charts=tuple(replace(one, start=moment(one.start), step=one.step * factor) for one in of.charts),
        losses=tuple(
            replace(one, stopped_since=at(one.stopped_since), counted_until=at(one.counted_until)) for one in of.losses
        ),
    )
