"""Durations: a constant, or a distribution. Each is drawn by inversion from one uniform number, so two policies with
the same numbers see the same random events."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log, log1p
from statistics import NormalDist
from typing import Protocol

P95 = NormalDist().inv_cdf(0.95)
_TINY = 1e-12


class Draws(Protocol):
    """A source of random numbers, such as random.Random."""

    def random(self) -> float: ...


Streams = Callable[[str], Draws]
"""A name to random numbers of its own: draws on one stream do not shift another."""


class SpreadKind(StrEnum):
    FIXED = "fixed"
    EXPONENTIAL = "exponential"  # first is the mean
    LOGNORMAL = "lognormal"  # first is the median, second sigma
    UNIFORM = "uniform"  # first is the shortest, second the longest


@dataclass(frozen=True, slots=True)
class Spread:
    kind: SpreadKind
    first: float
    second: float = 0.0

    def at(self, chance: float) -> float:
        """The quantile of the distribution at this probability."""
        if self.kind is SpreadKind.FIXED:
            return self.first
        if self.kind is SpreadKind.EXPONENTIAL:
            return -self.first * log1p(-chance)
        if self.kind is SpreadKind.UNIFORM:
            return self.first + chance * (self.second - self.first)
        return self.first * exp(self.second * NormalDist().inv_cdf(min(1 - _TINY, max(_TINY, chance))))

    @property
    def mean(self) -> float:
        if self.kind is SpreadKind.UNIFORM:
            return (self.first + self.second) / 2
        return self.first * exp(self.second**2 / 2) if self.kind is SpreadKind.LOGNORMAL else self.first


def fixed(seconds: float) -> Spread:
    return Spread(SpreadKind.FIXED, seconds)


def lognormal(median: float, p95: float) -> Spread:
    """The distribution with this median and 95 % quantile."""
    return Spread(SpreadKind.LOGNORMAL, median, log(p95 / median) / P95)
