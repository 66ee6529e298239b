"""Our own incomplete gamma function beside known values, and its quantiles beside itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs import gamma
from holdfast.economics.costs.gamma import chi_square_tail, gamma_cdf, gamma_quantile, poisson_cdf, poisson_quantile


@pytest.mark.parametrize("x", [0.01, 0.5, 1.0, 3.0, 20.0])
def test_shape_one_is_the_exponential(x: float) -> None:
    assert gamma_cdf(1.0, x) == pytest.approx(1 - math.exp(-x), rel=1e-12)


@pytest.mark.parametrize("x", [0.01, 0.5, 1.0, 3.0, 20.0])
def test_shape_one_half_is_the_error_function(x: float) -> None:
    assert gamma_cdf(0.5, x) == pytest.approx(math.erf(math.sqrt(x)), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "degrees", "tail"),  # tables of the chi-square distribution
    [(3.841459, 1, 0.05), (6.634897, 1, 0.01), (18.307038, 10, 0.05), (124.342113, 100, 0.05)],
)
def test_chi_square_tables(value: float, degrees: int, tail: float) -> None:
    assert chi_square_tail(value, degrees) == pytest.approx(tail, rel=1e-6)


def test_the_classic_interval_of_24_events() -> None:
    assert gamma_quantile(24, 0.025) == pytest.approx(15.377, abs=1e-3)
    assert gamma_quantile(25, 0.975) == pytest.approx(35.710, abs=1e-3)


@pytest.mark.parametrize("mean", [0.3, 2.5, 23.3, 186.4])
@pytest.mark.parametrize("count", [0, 1, 5, 30, 200])
def test_poisson_is_the_sum_of_its_terms(mean: float, count: int) -> None:
    terms = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count + 1)]
    assert poisson_cdf(count, mean) == pytest.approx(min(1.0, sum(terms)), abs=1e-12)


@given(st.floats(0.5, 5000), st.floats(0.001, 0.999))
def test_quantile_and_chance_undo_each_other(shape: float, chance: float) -> None:
    assert gamma_cdf(shape, gamma_quantile(shape, chance)) == pytest.approx(chance, abs=1e-9)


@given(st.floats(0.001, 2000), st.floats(0.001, 0.9999))
def test_the_poisson_quantile_is_the_smallest_that_covers(mean: float, chance: float) -> None:
    found = poisson_quantile(chance, mean)
    assert poisson_cdf(found, mean) >= chance > poisson_cdf(found - 1, mean)


@pytest.mark.parametrize("z", [-3.0, -1.0, 0.0, 1.0, 3.0])
def test_the_large_form_meets_the_exact_one(z: float) -> None:
    shape = gamma.LARGE
    x = shape + z * math.sqrt(shape)
    assert gamma._wilson_hilferty(shape, x) == pytest.approx(gamma_cdf(shape, x), abs=1e-6)


@given(st.floats(0.01, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))
def test_chances_grow_with_x_and_stay_chances(shape: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= gamma_cdf(shape, low) <= gamma_cdf(shape, high) + 1e-9 <= 1 + 1e-9


def test_the_ends_of_a_chance() -> None:
    assert (gamma_cdf(2.0, 0.0), gamma_cdf(2.0, -1.0), gamma_cdf(2.0, math.inf)) == (0.0, 0.0, 1.0)
    assert (gamma_quantile(2.0, 0.0), gamma_quantile(2.0, -1.0)) == (0.0, 0.0)
    assert (chi_square_tail(0.0, 1), chi_square_tail(-1.0, 1)) == (1.0, 1.0)
    assert chi_square_tail(0.454936, 1) == pytest.approx(0.5, abs=1e-6)
    assert (poisson_cdf(-1, 3.0), poisson_cdf(0, 0.0)) == (0.0, 1.0)


def test_a_chance_far_out_in_the_tail_is_found() -> None:
    assert gamma_quantile(1.0, 1 - 1e-12) == pytest.approx(27.631, abs=1e-2)
    assert poisson_quantile(1 - 1e-13, 0.01) == 5


def test_each_form_has_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """The series below shape + 1, the fraction from there on, the cube root above 100,000; a chance stays one."""
    cdf = gamma_cdf.__wrapped__
    monkeypatch.setattr(gamma, "_series", lambda shape, x: 0.25)
    monkeypatch.setattr(gamma, "_fraction", lambda shape, x: 0.125)
    monkeypatch.setattr(gamma, "_wilson_hilferty", lambda shape, x: 0.5)
    assert [cdf(2.0, x) for x in (1e-9, 0.5, 2.5, 2.999, 3.0, 3.001)] == [0.25] * 4 + [0.875] * 2
    assert [cdf(shape, 7.0) for shape in (50_001.0, 100_000.0, 100_001.0, 120_000.0)] == [0.25, 0.25, 0.5, 0.5]
    monkeypatch.setattr(gamma, "_series", lambda shape, x: 1.5)
    monkeypatch.setattr(gamma, "_fraction", lambda shape, x: 1.5)
    assert (cdf(2.0, 1.0), cdf(2.0, 9.0)) == (1.0, 0.0)


@pytest.mark.parametrize(("middle", "first"), [(4.0, 34), (100.0, 210)])
def test_a_search_starts_ten_standard_deviations_out_and_doubles(
    monkeypatch: pytest.MonkeyPatch, middle: float, first: int
) -> None:
    asked: list[float] = []

    def chance(x: float) -> float:
        asked.append(x)
        return 0.0 if x < 3 * first else 1.0

    monkeypatch.setattr(gamma, "gamma_cdf", lambda shape, x: chance(x))
    monkeypatch.setattr(gamma, "poisson_cdf", lambda count, mean: chance(count))
    assert gamma_quantile(middle, 0.5) == pytest.approx(3 * first, rel=1e-9)
    assert asked[:4] == [first, 2 * first, 4 * first, 3 * first]
    asked.clear()
    assert poisson_quantile(0.5, middle) == 3 * first
    assert asked[:4] == [first, 2 * first, 4 * first, 3 * first]


@pytest.mark.parametrize(
    ("value", "away"),
    [(0.0, 1e-300), (-1e-300, 1e-300), (9e-301, 1e-300), (-1.1e-300, -1.1e-300), (1.1e-300, 1.1e-300), (-2.0, -2.0)],
)
def test_nothing_is_divided_by_nearly_nothing(value: float, away: float) -> None:
    assert gamma._away_from_zero(value) == away


def test_small_quantiles_by_hand() -> None:
    """Shape 1: -ln(1 - chance)."""
    assert gamma_quantile(1.0, 0.5) == pytest.approx(math.log(2), rel=1e-11)
    assert gamma_quantile(1.0, 1e-6) == pytest.approx(1.0000005e-6, rel=1e-8)
    assert [poisson_quantile(chance, 1.0) for chance in (0.0, 0.36, 0.37, 0.73, 0.74)] == [0, 0, 1, 1, 2]
    assert poisson_quantile(0.9, 0.0) == 0
