"""Watched lifetimes: a textbook example, invented fleets with known answers, and cohorts that differ or not."""

import math
import random

import pytest

from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.costs.lifetimes import Lifetime, compare, fit_weibull, kaplan_meier, observed_rate, surviving

# Remission in weeks, Freireich 1963, as in every textbook on survival: 6-MP, and the placebo group.
TREATED = [(6, 1), (6, 1), (6, 1), (6, 0), (7, 1), (9, 0), (10, 1), (10, 0), (11, 0), (13, 1), (16, 1), (17, 0)]
TREATED += [(19, 0), (20, 0), (22, 1), (23, 1), (25, 0), (32, 0), (32, 0), (34, 0), (35, 0)]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
treated = [Lifetime(float(weeks), bool(failed)) for weeks, failed in TREATED]
placebo = [Lifetime(float(weeks), True) for weeks in PLACEBO]


def invented(count: int, shape: float, scale: float, watched: float, seed: int) -> list[Lifetime]:
    chance = random.Random(seed)
    ages = [scale * (-math.log(chance.random())) ** (1 / shape) for _ in range(count)]
    return [Lifetime(min(age, watched), age <= watched) for age in ages]


def test_kaplan_meier_and_greenwood_on_the_textbook() -> None:
    steps = kaplan_meier(treated)
    assert [round(step.survival, 4) for step in steps] == [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482]
    assert steps[0].error == pytest.approx(0.0764, abs=1e-4)
    assert steps[-1].error == pytest.approx(0.1346, abs=1e-4)
    assert surviving(steps, 5.9) == 1.0 and surviving(steps, 23.5) == pytest.approx(0.4482, abs=1e-4)


def test_log_rank_on_the_textbook() -> None:
    found = compare(placebo, treated)
    assert found.chi_square == pytest.approx(16.79, abs=0.01)
    assert found.p == pytest.approx(4.2e-5, rel=0.02)
    assert found.low > 1 < found.ratio


def test_a_weibull_is_found_again_through_censoring() -> None:
    found = fit_weibull(invented(4000, 2.6, 7.1, 5.0, seed=3))
    assert found.shape == pytest.approx(2.6, rel=0.06)
    assert found.scale_years == pytest.approx(7.1, rel=0.05)


def test_infant_mortality_is_found_again() -> None:
    assert fit_weibull(invented(4000, 0.6, 20.0, 3.0, seed=4)).shape == pytest.approx(0.6, rel=0.08)


def test_two_samples_of_one_fleet_do_not_differ() -> None:
    assert compare(invented(800, 1, 8, 3, seed=5), invented(800, 1, 8, 3, seed=6)).p > 0.01


def test_an_observed_rate_has_its_interval() -> None:
    seen = observed_rate([Lifetime(1.0, n < 24) for n in range(100)])
    assert (seen.events, seen.rate) == (24, 0.24)
    assert seen.low == pytest.approx(0.1538, abs=1e-4) and seen.high == pytest.approx(0.3571, abs=1e-4)


def test_nothing_to_fit_is_reported() -> None:
    with pytest.raises(BadNumber, match="two different ages"):
        fit_weibull([Lifetime(1.0, True), Lifetime(1.0, True)])
    with pytest.raises(BadNumber, match="no time was watched"):
        observed_rate([])
    with pytest.raises(BadNumber, match="both cohorts"):
        compare([Lifetime(1.0, False)], [Lifetime(1.0, True)])


def test_the_ratio_of_two_cohorts_by_hand() -> None:
    """20 and 5 failures in 100 years each: 4 times, within exp(+-1.96 sqrt(1/20 + 1/5)) = 2.665."""
    first = [Lifetime(1.0, n < 20) for n in range(100)]
    second = [Lifetime(1.0, n < 5) for n in range(100)]
    found = compare(first, second)
    assert (found.ratio, found.low, found.high) == (
        pytest.approx(4.0), pytest.approx(4 / 2.6645, rel=1e-4), pytest.approx(4 * 2.6645, rel=1e-4)
    )  # fmt: skip
    # Of 25 failures at one age, 12.5 would be each cohort's: (20 - 12.5)^2 / (25/4 * 175/199).
    assert found.chi_square == pytest.approx(7.5**2 / (25 / 4 * 175 / 199))
    with pytest.raises(BadNumber, match="both cohorts"):
        compare(first, [Lifetime(1.0, False)])


def test_where_all_fail_together_nothing_can_be_reported() -> None:
    both = [Lifetime(1.0, True)]
    assert compare(both, both).chi_square == 0.0


def test_survival_holds_from_the_moment_of_a_failure() -> None:
    steps = kaplan_meier([Lifetime(1.0, True), Lifetime(2.0, True)])
    assert [surviving(steps, years) for years in (0.99, 1.0, 1.99, 2.0)] == [1.0, 0.5, 0.5, 0.0]
    assert steps[-1].error == 0.0


def test_two_ages_are_enough_to_fit_and_an_age_of_nothing_is_none() -> None:
    both = [Lifetime(1.0, True), Lifetime(2.0, True)]
    found = fit_weibull(both)
    assert found.shape == pytest.approx(3.4615, abs=1e-3)
    assert fit_weibull([*both, Lifetime(0.0, True), Lifetime(0.0, False)]) == found


def test_a_fit_does_not_depend_on_the_unit_of_time() -> None:
    years = [Lifetime(age, True) for age in (1.0, 2.0, 4.0, 5.0)]
    weeks = [Lifetime(52 * life.years, True) for life in years]
    assert fit_weibull(weeks).shape == pytest.approx(fit_weibull(years).shape)
    assert fit_weibull(weeks).scale_years == pytest.approx(52 * fit_weibull(years).scale_years)


def test_a_fit_is_the_most_likely_one() -> None:
    """At the most likely scale the failures expected, sum (t / scale)^shape, are those seen; censored ones count."""
    for lives in (treated, placebo):
        found = fit_weibull(lives)
        expected = sum((life.years / found.scale_years) ** found.shape for life in lives)
        assert expected == pytest.approx(sum(life.failed for life in lives))
        logs = [math.log(life.years / found.scale_years) for life in lives if life.failed]
        weighted = sum(
            (life.years / found.scale_years) ** found.shape * math.log(life.years / found.scale_years) for life in lives
        )
        assert len(logs) / found.shape + sum(logs) == pytest.approx(weighted, rel=1e-6)


def test_parts_that_fail_all_but_together_have_the_steepest_shape_that_is_looked_for() -> None:
    assert fit_weibull([Lifetime(1.0, True), Lifetime(1.00001, True)]).shape == pytest.approx(1024)
    assert 500 < fit_weibull([Lifetime(1.0, True), Lifetime(1.004, True)]).shape < 1000


def test_kaplan_meier_by_hand() -> None:
    """Of 4, one fails at 1, one is taken out at 2, and one of the last two fails at 3."""
    steps = kaplan_meier([Lifetime(1.0, True), Lifetime(2.0, False), Lifetime(3.0, True), Lifetime(4.0, False)])
    assert [(step.years, step.survival) for step in steps] == [(1.0, 0.75), (3.0, 0.375)]
    assert steps[0].error == pytest.approx(0.75 * math.sqrt(1 / 12))
    assert steps[1].error == pytest.approx(0.375 * math.sqrt(1 / 12 + 1 / 2))
    assert kaplan_meier([]) == [] and surviving([], 1.0) == 1.0


def test_an_observed_rate_by_hand() -> None:
    """Nothing seen in 2 years: at most -ln(0.025) or, at 90 %, -ln(0.05) of them."""
    none = [Lifetime(2.0, False)]
    assert (observed_rate(none).low, observed_rate(none).high) == (0.0, pytest.approx(-math.log(0.025) / 2))
    assert observed_rate(none, 0.9).high == pytest.approx(-math.log(0.05) / 2)
    with pytest.raises(BadNumber):
        observed_rate([Lifetime(0.0, True)])


def test_the_log_rank_of_four_by_hand() -> None:
    """First fails at 1 and 3, second at 2 and 4. Expected of the first: 1/2 + 1/3 + 1/2; the last is alone."""
    first, second = [Lifetime(1.0, True), Lifetime(3.0, True)], [Lifetime(2.0, True), Lifetime(4.0, True)]
    found = compare(first, second)
    assert found.chi_square == pytest.approx((2 - 4 / 3) ** 2 / (1 / 4 + 2 / 9 + 1 / 4))
    assert found.p == pytest.approx(math.erfc(math.sqrt(found.chi_square / 2)))
    assert found.ratio == pytest.approx(6 / 4)
    assert compare(second, first).chi_square == pytest.approx(found.chi_square)
    with pytest.raises(BadNumber, match="both cohorts"):
        compare([Lifetime(1.0, False)], [Lifetime(1.0, False)])
