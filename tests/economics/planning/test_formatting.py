"""Figures as people say them, on both sides of every change of unit or digits."""

from math import inf

import pytest

from holdfast.economics.planning.formatting import bandwidth, count, money, percent, time


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (inf, "never"),
        (0.5, "0.5 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (7199.0, "120 min"),
        (7200.0, "2 h"),
        (172_799.0, "48 h"),
        (172_800.0, "2 d"),
        (63_071_000.0, "730 d"),
        (63_072_000.0, "2 years"),
    ],
)
def test_a_unit_is_used_from_two_of_it_on(seconds: float, expected: str) -> None:
    assert time(seconds) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.00 %"),
        (1.0, "100.0 %"),
        (0.2, "20.00 %"),
        (0.201, "20.1 %"),
        (0.0006, "0.06 %"),
        (0.0004, "0.0400 %"),
        (0.9994, "99.9 %"),
        (0.9996, "99.9600 %"),
        (1 - 1e-7, "almost 100 %"),
        (1e-7, "almost 0 %"),
    ],
)
def test_as_many_digits_as_the_distance_from_nothing_or_all_needs(value: float, expected: str) -> None:
    assert percent(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(inf, "no limit"), (9.5, "9.5"), (10.0, "10"), (16384.0, "16,384"), (1e9, "1e+09")]
)
def test_counts(value: float, expected: str) -> None:
    assert count(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5e8, "500 MB/s"), (1e9, "1 GB/s"), (2e12, "2 TB/s"), (1e15, "1 PB/s"), (9.99e11, "999 GB/s")],
)
def test_bandwidths(value: float, expected: str) -> None:
    assert bandwidth(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(99.99, "99.99 USD"), (100.0, "100 USD"), (-99.0, "-99.00 USD"), (1234.5, "1,234 USD")]
)
def test_money(value: float, expected: str) -> None:
    assert money(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.00055, "0.06 %"), (0.00045, "0.0450 %"), (1.1e-6, "0.0001 %"), (0.9e-6, "almost 0 %"),
     (1 - 1.1e-6, "99.9999 %"), (1 - 0.9e-6, "almost 100 %")],
)  # fmt: skip
def test_where_more_digits_start_and_end(value: float, expected: str) -> None:
    assert percent(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(10.6, "11"), (9.96, "9.96"), (10.4, "10"), (6e8, "600,000,000")])
def test_from_ten_on_counts_are_whole(value: float, expected: str) -> None:
    assert count(value) == expected
