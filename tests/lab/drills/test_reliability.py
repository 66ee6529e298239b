"""A confidence is compared with how often it was right, and a map that mends it never turns the order round."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.catalog.seam_confidence import calibrated, knots
from holdfast.lab.drills.reliability import ScoredFinding, bands, fitted


def claim(raw: float, right: bool) -> ScoredFinding:
    return ScoredFinding(raw=raw, confidence=raw, right=right)


def test_a_band_says_how_many_of_its_findings_were_right() -> None:
    (low, high) = bands([claim(0.75, True), claim(0.75, False), claim(0.97, True), claim(1.0, True)])
    assert (low.low, low.claims, low.right) == (0.7, 2, 1)
    assert (high.low, high.claims, high.right) == (0.95, 2, 2)


def test_what_was_right_less_often_than_it_reported_is_reported_lower() -> None:
    boastful = [claim(0.9, number % 2 == 0) for number in range(100)]
    (knot,) = fitted(boastful)
    assert abs(knot[1] - 0.5) < 0.02


@given(st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans()), min_size=1, max_size=200))
def test_a_fit_never_falls(expected: list[tuple[float, bool]]) -> None:
    found = fitted([claim(raw, right) for raw, right in expected])
    assert found
    for (raw, share), (higher, more) in pairwise(found):
        assert raw < higher and share < more


def test_the_map_in_use_never_falls_and_covers_everything() -> None:
    assert knots()[0][0] == 0.0 and knots()[-1][0] == 1.0
    values = [calibrated(number / 200) for number in range(201)]
    assert values == sorted(values) and 0 <= values[0] <= values[-1] < 1.01
