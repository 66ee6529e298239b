"""Statistics over replicas: means with intervals, and a paired comparison of two policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan, copysign, cos, inf, pi, sin, sqrt
from statistics import NormalDist, fmean, stdev

LEVEL = 0.95
MANY = 300  # degrees of freedom from which Student's distribution is treated as normal


@dataclass(frozen=True, slots=True)
class Estimate:
    mean: float
    low: float
    high: float
    replicas: int

    @property
    def half_width(self) -> float:
        return self.high - self.mean

    def document(self) -> dict[str, float | None]:
        """The estimate as JSON; a single replica has no interval."""
        low, high = (self.low, self.high) if self.replicas > 1 else (None, None)
        return {"mean": self.mean, "low": low, "high": high}


def estimate(values: Sequence[float], level: float = LEVEL, least: float = -inf, most: float = inf) -> Estimate:
    """The mean with Student's interval, clipped to the possible values; for a single value the whole range."""
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean, least, most, len(values))
    half = student_quantile(0.5 + level / 2, len(values) - 1) * stdev(values) / sqrt(len(values))
    return Estimate(mean, max(least, mean - half), min(most, mean + half), len(values))


@dataclass(frozen=True, slots=True)
class Difference:
    """The second minus the first, replica by replica."""

    by: Estimate
    p: float  # p value of the difference
    saved: float  # factor of replicas saved compared with independent random numbers

    @property
    def significant(self) -> bool:
        return self.p < 1 - LEVEL


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """A paired t test. Both must use the same random numbers in each replica."""
    gaps = [b - a for a, b in zip(first, second, strict=True)]
    by = estimate(gaps)
    if len(gaps) < 2:
        return Difference(by, 1.0, 1.0)
    spread = stdev(gaps)
    if spread == 0:
        return Difference(by, 1.0 if by.mean == 0 else 0.0, 1.0)
    apart = stdev(first) ** 2 + stdev(second) ** 2
    p = 2 * (1 - student_cdf(abs(by.mean) / (spread / sqrt(len(gaps))), len(gaps) - 1))
    return Difference(by, max(0.0, p), apart / spread**2)


def student_cdf(t: float, freedom: int) -> float:
    """Student's distribution function, exact for whole degrees of freedom (finite sum)."""
    if freedom > MANY:
        return NormalDist().cdf(t * (1 - 1 / (4 * freedom)) / sqrt(1 + t * t / (2 * freedom)))
    angle = atan(abs(t) / sqrt(freedom))
    square, term, total = cos(angle) ** 2, 1.0, 0.0
    if freedom % 2:
        term = cos(angle)
        for number in range(1, freedom, 2):
            total += term
            term *= square * (number + 1) / (number + 2)
        both = 2 / pi * (angle + sin(angle) * total)
    else:
        for number in range(0, freedom, 2):
            total += term
            term *= square * (number + 1) / (number + 2)
        both = sin(angle) * total
    return 0.5 + copysign(both / 2, t)


def student_quantile(chance: float, freedom: int) -> float:
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < chance:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < chance else (low, middle)
    return (low + high) / 2
