"""Observed lifetimes, censored or not: Kaplan-Meier, a Weibull fit, and a cohort test."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.gamma import chi_square_tail
from holdfast.economics.costs.survival import Weibull, exact_interval


@dataclass(frozen=True, slots=True)
class Lifetime:
    years: float
    failed: bool  # False: still running, or taken out for another reason


@dataclass(frozen=True, slots=True)
class LifetimeStep:
    years: float
    survival: float
    error: float  # Greenwood's standard error


def kaplan_meier(lifetimes: Sequence[Lifetime]) -> list[LifetimeStep]:
    """The share surviving after each failure. Assumes that units taken out were no worse than the others."""
    ended: Counter[float] = Counter(life.years for life in lifetimes)
    failures: Counter[float] = Counter(life.years for life in lifetimes if life.failed)
    at_risk = len(lifetimes)
    survival, spread, steps = 1.0, 0.0, []
    for years in sorted(ended):
        if lost := failures[years]:
            survival *= 1 - lost / at_risk
            spread += lost / (at_risk * (at_risk - lost)) if at_risk > lost else 0.0
            steps.append(LifetimeStep(years, survival, survival * sqrt(spread)))
        at_risk -= ended[years]
    return steps


def surviving(steps: Sequence[LifetimeStep], years: float) -> float:
    return next((step.survival for step in reversed(steps) if step.years <= years), 1.0)


@dataclass(frozen=True, slots=True)
class Observed:
    """Failures over the time watched, with the exact interval of the rate."""

    events: int
    gpu_years: float
    rate: float
    low: float
    high: float


def observed_rate(lifetimes: Sequence[Lifetime], level: float = 0.95) -> Observed:
    events = sum(life.failed for life in lifetimes)
    years = sum(life.years for life in lifetimes)
    if years <= 0:
        raise BadNumber("no time was watched: a rate needs lifetimes longer than 0")
    low, high = exact_interval(events, level)
    return Observed(events, years, events / years, low / years, high / years)


def fit_weibull(lifetimes: Sequence[Lifetime]) -> Weibull:
    """Most likely shape and scale; the profile equation in the shape is monotone and solved by halving."""
    logs = [log(life.years) for life in lifetimes if life.failed and life.years > 0]
    watched = [life.years for life in lifetimes if life.years > 0]
    if len(set(logs)) < 2:
        raise BadNumber("a Weibull fit needs failures at two different ages at least")
    mean_log, longest = sum(logs) / len(logs), max(watched)

    def slope(shape: float) -> float:
        weights = [exp(shape * log(years / longest)) for years in watched]
        weighted = sum(w * log(years) for w, years in zip(weights, watched, strict=True))
        return weighted / sum(weights) - 1 / shape - mean_log

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e3:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    shape = (low + high) / 2
    scale = longest * (sum((years / longest) ** shape for years in watched) / len(logs)) ** (1 / shape)
    return Weibull(shape, scale)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two cohorts: the failure rate of the first relative to the second, and whether chance explains the difference."""

    ratio: float
    low: float
    high: float
    chi_square: float
    p: float


def compare(first: Sequence[Lifetime], second: Sequence[Lifetime]) -> Comparison:
    """Log-rank test, and the ratio of the rates with its 95 % interval (log-normal; needs failures in both)."""
    a, b = observed_rate(first), observed_rate(second)
    if not a.events or not b.events:
        raise BadNumber("a comparison needs failures in both cohorts")
    ratio, spread = a.rate / b.rate, 1.959964 * sqrt(1 / a.events + 1 / b.events)
    chi_square = _log_rank(first, second)
    return Comparison(ratio, ratio * exp(-spread), ratio * exp(spread), chi_square, chi_square_tail(chi_square, 1))


def _log_rank(first: Sequence[Lifetime], second: Sequence[Lifetime]) -> float:
    ended = [Counter(life.years for life in cohort) for cohort in (first, second)]
    failed = [Counter(life.years for life in cohort if life.failed) for cohort in (first, second)]
    left = [len(first), len(second)]
    surprise = variance = 0.0
    for years in sorted(set(ended[0]) | set(ended[1])):
        lost, together = failed[0][years] + failed[1][years], left[0] + left[1]
        if lost and together > 1:
            part = left[0] / together
            surprise += failed[0][years] - lost * part
            variance += lost * part * (1 - part) * (together - lost) / (together - 1)
        left = [left[0] - ended[0][years], left[1] - ended[1][years]]
    return surprise**2 / variance if variance else 0.0
