"""Fleet time: the time of window and findings. In a demo it runs faster than the clock by a constant factor."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.model.account import Account


@dataclass(frozen=True, slots=True)
class FleetTime:
    began: float
    """At this moment both times are equal."""
    factor: float = 1.0

    def lived(self, at: float) -> float:
        """The fleet's time at a moment of the clock."""
        return self.began + (at - self.began) * self.factor

    def clock(self, lived: float) -> float:
        """The clock's time at a moment of the fleet."""
        return self.began + (lived - self.began) / self.factor

    def as_lived(self, stored: Account) -> Account:
        """An account from the store, which keeps the clock's time."""
        return stored if self.factor == 1 else _moved(stored, self.lived, self.factor)

    def on_the_clock(self, reported: Account) -> Account:
        """An account for the store."""
        return reported if self.factor == 1 else _moved(reported, self.clock, 1 / self.factor)


def _moved(of: Account, moment: Callable[[float], float], factor: float) -> Account:
    """Moments and the step of charts are converted. Hours are always hours of the fleet."""

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
