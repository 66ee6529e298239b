"""Means with intervals, and the paired test, against known tables."""

import random

import pytest

from holdfast.economics.simulation.estimate import difference, estimate, student_cdf, student_quantile


@pytest.mark.parametrize(
    ("freedom", "value"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (29, 2.045), (120, 1.980), (1000, 1.962)]
)
def test_students_quantile_is_that_of_the_tables(freedom: int, value: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(value, abs=6e-4)
    assert student_cdf(-value, freedom) == pytest.approx(0.025, abs=1e-4)


def test_an_interval_covers_as_often_as_it_says() -> None:
    rng = random.Random(3)
    tries = 1000
    covered = sum((found := estimate([rng.gauss(1, 2) for _ in range(8)])).low < 1 < found.high for _ in range(tries))
    assert 0.93 < covered / tries < 0.97


def test_the_same_rng_reports_small_differences() -> None:
    rng = random.Random(4)
    first = [rng.gauss(0.9, 0.01) for _ in range(20)]
    second = [value + 0.002 + rng.gauss(0, 0.001) for value in first]
    found = difference(first, second)
    assert found.significant and found.by.low > 0
    assert found.saved > 20
    shuffled = difference(first, sorted(second))
    assert not shuffled.significant


def test_no_difference_is_not_significant() -> None:
    assert difference([0.5, 0.6], [0.5, 0.6]).p == 1.0
    assert not difference([0.5], [0.9]).significant, "one pair says nothing"
