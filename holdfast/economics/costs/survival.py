"""Failure probability: compounding over a fleet, infant mortality and ageing, and intervals from counts.

Rates are per GPU-year of 365 days. An annual failure probability a corresponds to a rate r = -ln(1-a).
"""

from dataclasses import dataclass
from math import exp, expm1, gamma, inf, log1p, pow

from holdfast.economics.costs.feasible import BadNumber, not_negative, positive
from holdfast.economics.costs.gamma import gamma_quantile

DAYS_PER_YEAR = 365.0
YEAR_SECONDS = DAYS_PER_YEAR * 86_400
JEFFREYS = 0.5  # shape of a prior with almost no information; it gives an interval even for zero failures


def rate_from_probability(yearly_probability: float) -> float:
    """Failures per GPU-year of a part that fails within a year with this probability."""
    if not 0 <= yearly_probability < 1:
        raise BadNumber(f"a yearly probability: expected 0 or more and below 1, found {yearly_probability:g}")
    return -log1p(-yearly_probability)


def expected_failures(gpus: float, days: float, rate: float) -> float:
    return not_negative("rate", rate) * positive("gpus", gpus) * positive("days", days) / DAYS_PER_YEAR


def chance_of_failure(gpus: float, days: float, rate: float) -> float:
    """Probability of at least one failure: 1 - exp(-r N d/365), which with r = -ln(1-a) is 1 - (1-a)^(N d/365).

    Holds for a constant rate and independent failures.
    """
    return -expm1(-expected_failures(gpus, days, rate))


def mean_seconds_between(gpus: float, rate: float) -> float:
    """Mean time between failures of this many units together. Meta's RSC deviates at some sizes: docs/agreement.md."""
    return YEAR_SECONDS / (positive("rate", rate) * positive("gpus", gpus))


@dataclass(frozen=True, slots=True)
class Weibull:
    """Lifetimes whose rate changes with age: a shape below 1 is infant mortality, above 1 wear, 1 a constant rate."""

    shape: float
    scale_years: float

    @classmethod
    def with_first_year(cls, shape: float, rate: float) -> "Weibull":
        """The distribution with as many failures in the first year as the constant rate."""
        return cls(positive("shape", shape), positive("rate", rate) ** (-1 / shape))

    def hazard(self, age_years: float) -> float:
        """Failures per GPU-year at this age."""
        if age_years == 0 and self.shape < 1:
            return inf
        return self.shape / self.scale_years * pow(age_years / self.scale_years, self.shape - 1)

    def chance_of_failure(self, gpus: float, days: float, age_days: float = 0.0) -> float:
        """Probability of at least one failure among this many units of this age."""
        return -expm1(-self.expected_failures(gpus, days, age_days))

    def expected_failures(self, gpus: float, days: float, age_days: float = 0.0) -> float:
        """Expected number of first failures; replacement parts are not counted."""
        begin, end = age_days / DAYS_PER_YEAR, (age_days + days) / DAYS_PER_YEAR
        return gpus * (pow(end / self.scale_years, self.shape) - pow(begin / self.scale_years, self.shape))

    def survival(self, age_years: float) -> float:
        return exp(-((age_years / self.scale_years) ** self.shape))

    def mean_first_failure_years(self, gpus: float) -> float:
        """Mean time to the first failure of this many new units: eta N^(-1/k) Gamma(1+1/k). A fleet with
        replacements tends to 1/N instead."""
        return self.scale_years * pow(gpus, -1 / self.shape) * gamma(1 + 1 / self.shape)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The rate after observed failures: Gamma(events + 1/2, exposure), from Jeffreys' prior."""

    events: int
    gpu_years: float

    def __post_init__(self) -> None:
        not_negative("events", self.events)
        positive("GPU-years", self.gpu_years)

    @property
    def mean(self) -> float:
        return (self.events + JEFFREYS) / self.gpu_years

    def quantile(self, chance: float) -> float:
        return gamma_quantile(self.events + JEFFREYS, chance) / self.gpu_years

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        tail = (1 - level) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def chance_of_failure(self, gpus: float, days: float) -> float:
        """Probability including the rate's uncertainty: 1 - (T/(T+e))^k, with T the past and e the future exposure."""
        ahead = positive("gpus", gpus) * positive("days", days) / DAYS_PER_YEAR
        return -expm1(-(self.events + JEFFREYS) * log1p(ahead / self.gpu_years))


def exact_interval(events: int, level: float = 0.95) -> tuple[float, float]:
    """Garwood's interval of a Poisson mean: never too narrow, often a little wide."""
    tail = (1 - level) / 2
    return gamma_quantile(events, tail) if events else 0.0, gamma_quantile(events + 1, 1 - tail)
