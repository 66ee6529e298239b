"""The chance of a rollout's failures is a number for any count of events, and exact for small ones."""

from math import comb

import pytest

from holdfast.seams.rules.software_rollout import _at_least


@pytest.mark.parametrize(("hits", "trials", "share"), [(0, 5, 0.5), (3, 5, 0.25), (5, 5, 0.9), (1, 1, 0.001)])
def test_small_counts_are_exact(hits: int, trials: int, share: float) -> None:
    exact = sum(comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(hits, trials + 1))
    assert _at_least(hits, trials, share) == pytest.approx(exact)


def test_a_storm_of_events_is_no_overflow() -> None:
    assert _at_least(1500, 20_000, 0.01) == pytest.approx(0.0, abs=1e-12)
    assert _at_least(100, 20_000, 0.01) == pytest.approx(1.0, abs=1e-6)
    assert _at_least(0, 3, 0.0) == 1.0 and _at_least(1, 3, 0.0) == 0.0 and _at_least(3, 3, 1.0) == 1.0
