"""Lifetimes told one by one: who survives, how parts age, and whether two cohorts differ."""

import pytest

from holdfast.economics.costs.lifetimes import Lifetime
from holdfast.economics.planning.cohorts import figures

# Ten units watched for two years: two fail after a quarter, one after a year and a half.
TEN = [Lifetime(0.25, True)] * 2 + [Lifetime(1.5, True)] + [Lifetime(2.0, False)] * 7


def by_key(lives: list[Lifetime], against: list[Lifetime] | None = None) -> dict[str, object]:
    return {figure.key: (figure.value, figure.shown) for figure in figures(lives, against or [])}


def test_survival_is_reported_for_as_long_as_was_watched() -> None:
    shares, shown = by_key(TEN)["surviving_by_years"]  # type: ignore[misc]
    assert shares == {"0.5": pytest.approx(0.8), "1": pytest.approx(0.8), "2": pytest.approx(0.7)}
    assert shown.startswith("0.5 y 80.0 % +- 24.79 %")  # 1.96 times Greenwood's 0.1265


def test_before_the_first_failure_everyone_survives() -> None:
    late = [Lifetime(0.9, True), Lifetime(1.0, False)]
    assert by_key(late)["surviving_by_years"][0] == {"0.5": 1.0, "1": 0.5}  # type: ignore[index]
    assert "surviving_by_years" not in by_key([Lifetime(0.4, True)])
    assert by_key([]) == {}


def test_how_parts_age_is_reported_in_words() -> None:
    early = [Lifetime(years, True) for years in (0.001, 0.01, 0.1, 1.0)]
    assert "below 1, parts fail early" in by_key(early)["weibull_shape"][1]  # type: ignore[index]
    worn = [Lifetime(years, True) for years in (4.0, 4.5, 5.0, 5.5)]
    assert "above 1, they wear" in by_key(worn)["weibull_shape"][1]  # type: ignore[index]


def test_two_cohorts_differ_or_not() -> None:
    short = [Lifetime(0.1 + 0.001 * n, True) for n in range(30)]
    long = [Lifetime(1.0 + 0.001 * n, True) for n in range(30)]
    document, shown = by_key(short, long)["failures_beside_the_other_cohort"]  # type: ignore[misc]
    assert shown.endswith("log-rank p < 0.001: they differ")
    assert document["p"] < 0.001 and document["low"] > 1
    _, same = by_key(short, list(short))["failures_beside_the_other_cohort"]  # type: ignore[misc]
    assert same.endswith("log-rank p = 1.000: no difference can be found")
    assert "failures_beside_the_other_cohort" not in by_key(short)


def test_a_failure_counts_at_its_own_age_and_before_the_first_no_one_is_lost() -> None:
    lives = [Lifetime(1.0, True)] + [Lifetime(2.0, False)] * 9
    shares, shown = by_key(lives)["surviving_by_years"]  # type: ignore[misc]
    assert shares == {"0.5": 1.0, "1": pytest.approx(0.9), "2": pytest.approx(0.9)}
    assert shown.startswith("0.5 y 100.0 % +- 0.00 %")


def test_wear_starts_above_one() -> None:
    mild = [Lifetime(years, True) for years in (1.0, 2.0, 3.0, 7.0)]
    assert "above 1, they wear" in by_key(mild)["weibull_shape"][1]  # type: ignore[index]


def test_a_small_p_is_reported_as_one() -> None:
    first = [Lifetime(1.0, n < 20) for n in range(100)]
    second = [Lifetime(1.0, n < 10) for n in range(100)]
    _, shown = by_key(first, second)["failures_beside_the_other_cohort"]  # type: ignore[misc]
    assert shown.startswith("2 (95 %: 0.936 to 4.27)")
    assert shown.endswith("log-rank p = 0.048: they differ")
