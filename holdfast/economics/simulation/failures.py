"""Failure times of units. Units with a constant rate share one stream of failures, and each failure picks its unit: the
distribution is the same, and the cost grows with the failures only. Each ageing unit has its own next failure.

A failure of a unit that is out of service is skipped; for constant rates this is exact. The streams do not depend on
the policy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p, pow, sqrt
from statistics import NormalDist

from holdfast.economics.simulation.clock import Clock
from holdfast.economics.simulation.scenario import YEAR, Cluster, Hazard
from holdfast.economics.simulation.spread import Draws, Streams

_NORMAL = NormalDist()
LATEST = 1e6  # years of age; later failures are after the end of every simulation
LOTS = 12  # uniform numbers of a failure, for all its consequences


@dataclass(slots=True)
class Failure:
    hazard: Hazard
    unit: int
    nodes: range
    rng: list[float]
    again: bool = False  # a test missed the defect, and the node failed again
    number: int = 0  # sequence number of the strike
    used: int = 0

    def draw(self) -> float:
        """The next number. After the last one, the first is used again."""
        self.used += 1
        return self.rng[(self.used - 1) % len(self.rng)]


class Failures:
    """Calls `strike` for every failure of one hazard. `renew` reports replaced parts."""

    def __init__(
        self, hazard: Hazard, cluster: Cluster, clock: Clock, streams: Streams, strike: Callable[[Failure], None]
    ) -> None:
        self._hazard, self._cluster, self._clock, self._strike = hazard, cluster, clock, strike
        self._draws = streams(f"hazard/{hazard.name}")
        self._streams = streams
        self._units = cluster.units(hazard.on)
        self._rate = _certain(hazard, streams(f"rate/{hazard.name}"))
        self._renewed: dict[int, float] = {}
        self._own: dict[int, Draws] = {}
        draw = streams(f"lemons/{hazard.name}")  # the name seeds the stream: published figures depend on it
        self._repeat_offenders = _by_draw(self._units, hazard.repeat_offender_share, draw)
        if hazard.shape == 1:
            self._begin_constant()
        else:
            self._begin_ageing()

    def renew(self, unit: int) -> None:
        """Replaces a part: the new one is young and neither a repeat offender nor of the bad batch."""
        self._renewed[unit] = self._clock.now
        if self._hazard.shape != 1:
            self._schedule(unit, 0.0, self._own_draws(unit).random())

    def _times(self, unit: int) -> float:
        hazard = self._hazard
        if unit in self._renewed:
            return 1.0
        times = hazard.repeat_offender_times if unit in self._repeat_offenders else 1.0
        return times * hazard.batch_times if unit < hazard.batch_share * self._units else times

    def _begin_constant(self) -> None:
        """Draws failures at the rate of the worst unit; each is accepted with the probability that its unit's rate
        allows."""
        hazard = self._hazard
        self._worst = max(1.0, hazard.repeat_offender_times) * max(1.0, hazard.batch_times)
        mixed = hazard.repeat_offender_share or hazard.batch_share
        self._worst = self._worst if mixed else 1.0
        self._second_rate = self._units * self._rate * self._worst / YEAR
        self._next_constant(None)

    def _next_constant(self, failed: int | None) -> None:
        draws = self._draws
        random = draws.random
        if failed is not None:
            rng = [random() for _ in range(LOTS)]
            if self._worst == 1.0 or rng.pop() * self._worst < self._times(failed):
                self._strike(Failure(self._hazard, failed, self._cluster.behind(self._hazard.on, failed), rng))
        if self._second_rate > 0:
            gap = -log1p(-random()) / self._second_rate
            self._clock.after(gap, self._next_constant, int(random() * self._units))

    def _begin_ageing(self) -> None:
        age, random = self._hazard.age_years, self._draws.random
        for unit in range(self._units):
            self._schedule(unit, age, random())

    def _schedule(self, unit: int, age: float, chance: float) -> None:
        """Schedules the next failure of a unit of this age: H(next) = H(age) + an exponential number."""
        hazard, born = self._hazard, self._clock.now - age * YEAR
        scale = self._rate * self._times(unit)
        if scale <= 0:
            return
        reached = age**hazard.shape - log1p(-chance) / scale
        if reached < LATEST**hazard.shape:
            self._clock.at(born + reached ** (1 / hazard.shape) * YEAR, self._age_out, (unit, born))

    def _age_out(self, who: tuple[int, float]) -> None:
        unit, born = who
        if self._renewed.get(unit, -inf) > born + 1e-6:
            return  # the part was replaced
        random = self._own_draws(unit).random
        rng = [random() for _ in range(LOTS)]
        self._schedule(unit, (self._clock.now - born) / YEAR, random())
        self._strike(Failure(self._hazard, unit, self._cluster.behind(self._hazard.on, unit), rng))

    def _own_draws(self, unit: int) -> Draws:
        if unit not in self._own:
            self._own[unit] = self._streams(f"unit/{self._hazard.name}/{unit}")
        return self._own[unit]


def _by_draw(units: int, share: float, draws: Draws) -> frozenset[int]:
    """A random share of the units, each with the same probability."""
    return frozenset(unit for unit in range(units) if draws.random() < share) if share else frozenset()


def _certain(hazard: Hazard, draws: Draws) -> float:
    """The rate of this run. A counted rate is uncertain, so each run draws one (Gamma, Jeffreys' prior)."""
    if not hazard.rate_events:
        return hazard.rate
    return hazard.rate * _gamma(hazard.rate_events + 0.5, draws) / (hazard.rate_events + 0.5)


def _gamma(shape: float, draws: Draws) -> float:
    """A Gamma draw with mean `shape` (at least 1/2), by the method of Marsaglia and Tsang on uniform numbers."""
    if shape < 1:
        return _gamma(shape + 1, draws) * pow(max(1e-300, draws.random()), 1 / shape)
    d = shape - 1 / 3
    c = 1 / sqrt(9 * d)
    while True:
        x = _NORMAL.inv_cdf(min(1 - 1e-12, max(1e-12, draws.random())))
        v = (1 + c * x) ** 3
        if v > 0 and log(max(1e-300, draws.random())) < x * x / 2 + d - d * v + d * log(v):
            return d * v
