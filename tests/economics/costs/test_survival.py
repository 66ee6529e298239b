"""Compounding, young and old parts, and what counts support."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.survival import (
    Posterior,
    Weibull,
    chance_of_failure,
    exact_interval,
    expected_failures,
    mean_seconds_between,
    rate_from_probability,
)

GPUS, DAYS, RATES = st.floats(1, 1e6), st.floats(0.01, 1000), st.floats(1e-6, 50)


def test_the_published_chances() -> None:
    rate = rate_from_probability(0.01)
    assert chance_of_failure(256, 30, rate) == pytest.approx(0.1906, abs=5e-5)
    assert chance_of_failure(1024, 30, rate) == pytest.approx(0.5708, abs=5e-5)


@given(GPUS, DAYS, RATES)
def test_more_of_anything_is_never_safer(gpus: float, days: float, rate: float) -> None:
    here = chance_of_failure(gpus, days, rate)
    assert 0 <= here <= 1
    for there in (
        chance_of_failure(2 * gpus, days, rate),
        chance_of_failure(gpus, 2 * days, rate),
        chance_of_failure(gpus, days, 2 * rate),
    ):
        assert there >= here


@given(GPUS, DAYS, RATES)
def test_shape_one_is_the_constant_rate(gpus: float, days: float, rate: float) -> None:
    parts = Weibull.with_first_year(1.0, rate)
    assert parts.expected_failures(gpus, days) == pytest.approx(expected_failures(gpus, days, rate))
    assert parts.mean_first_failure_years(gpus) == pytest.approx(mean_seconds_between(gpus, rate) / (365 * 86400))


def test_infant_mortality_makes_a_new_fleet_worse_than_one_over_n() -> None:
    young = Weibull.with_first_year(0.5, 0.1)
    assert young.chance_of_failure(1000, 7) > chance_of_failure(1000, 7, 0.1)
    assert young.chance_of_failure(1000, 7, age_days=365) < chance_of_failure(1000, 7, 0.1)
    assert young.mean_first_failure_years(1000) < young.mean_first_failure_years(1) / 1000
    assert young.hazard(0) == math.inf and young.hazard(1) < young.hazard(0.1)
    assert young.survival(1.0) == pytest.approx(math.exp(-0.1))


@given(st.integers(0, 5000), st.floats(0.1, 1e6))
def test_the_credible_interval_holds_its_mean_and_narrows(events: int, years: float) -> None:
    low, high = Posterior(events, years).interval()
    assert low < Posterior(events, years).mean < high
    wider = Posterior(events, years).interval(0.99)
    assert wider[0] <= low and wider[1] >= high
    more = Posterior(4 * events, 4 * years)
    assert more.interval()[1] - more.interval()[0] < high - low


def test_an_uncertain_rate_tends_to_the_certain_one_with_much_exposure() -> None:
    known = Posterior(100_000, 1_000_000.0)
    assert known.chance_of_failure(256, 30) == pytest.approx(chance_of_failure(256, 30, 0.1), rel=1e-3)


def test_nothing_seen_is_not_nothing_possible() -> None:
    low, high = Posterior(0, 100.0).interval()
    assert low < 1e-4 and high > 0.01
    assert exact_interval(0) == (0.0, pytest.approx(3.689, abs=1e-3))


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 2.0, math.nan])
def test_a_probability_is_one(wrong: float) -> None:
    with pytest.raises(BadNumber, match="probability"):
        rate_from_probability(wrong)


def test_the_hazard_of_parts_that_wear_by_hand() -> None:
    """Shape 2 and scale 4: 2/4 * age/4 failures a year."""
    worn = Weibull(2.0, 4.0)
    assert (worn.hazard(0), worn.hazard(2.0), worn.hazard(8.0)) == (0.0, pytest.approx(0.25), pytest.approx(1.0))
    assert Weibull(1.0, 4.0).hazard(0) == pytest.approx(0.25)


def test_the_first_failure_of_many_by_hand() -> None:
    """Shape 1/2: scale / N^2 times Gamma(3) = 2."""
    assert Weibull(0.5, 100.0).mean_first_failure_years(10) == pytest.approx(2.0)


def test_rates_and_times_by_hand() -> None:
    assert rate_from_probability(0.0) == 0
    assert rate_from_probability(1 - math.exp(-2)) == pytest.approx(2)
    assert expected_failures(10, 73, 0.5) == pytest.approx(1)
    assert mean_seconds_between(2, 0.5) == 31_536_000
    assert chance_of_failure(10, 73, 0.5) == pytest.approx(1 - math.exp(-1))


def test_parts_that_wear_by_hand() -> None:
    """Shape 2 and scale 1: age squared."""
    worn = Weibull(2.0, 1.0)
    assert worn.expected_failures(10, 365) == pytest.approx(10)
    assert worn.expected_failures(10, 365, 365) == pytest.approx(30)
    assert worn.chance_of_failure(0.1, 365) == pytest.approx(1 - math.exp(-0.1), rel=1e-9)
    assert worn.chance_of_failure(0.1, 365, 365) == pytest.approx(1 - math.exp(-0.3))
    assert Weibull(2.0, 4.0).survival(2.0) == pytest.approx(math.exp(-0.25))
    assert Weibull.with_first_year(2.0, 4.0) == Weibull(2.0, 0.5)
    assert Weibull(2.0, 4.0).mean_first_failure_years(4) == pytest.approx(2 * math.sqrt(math.pi) / 2)
    assert Weibull(0.5, 1.0).hazard(4.0) == pytest.approx(0.25)


def test_what_counts_support_by_hand() -> None:
    seen = Posterior(1, 2.0)
    assert seen.mean == 0.75
    assert seen.interval() == pytest.approx((seen.quantile(0.025), seen.quantile(0.975)))
    assert seen.interval(0.5) == (seen.quantile(0.25), seen.quantile(0.75))
    assert seen.quantile(0.95) == pytest.approx(7.814728 / 4)  # chi-square of 3 degrees
    assert seen.chance_of_failure(2, 365) == pytest.approx(1 - 0.5**1.5)


@pytest.mark.parametrize(
    ("events", "level", "low", "high"),
    [(24, 0.95, 15.377, 35.710), (0, 0.9, 0.0, 2.9957), (1, 0.95, 0.02532, 5.5716), (1, 0.9, 0.05129, 4.7439)],
)
def test_the_classic_interval_in_tables(events: int, level: float, low: float, high: float) -> None:
    assert exact_interval(events, level) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))
    assert exact_interval(24) == exact_interval(24, 0.95)
