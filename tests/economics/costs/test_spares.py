"""Spares: the published table, Erlang's own figures, and queues that never end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import NoProgress
from holdfast.economics.costs.spares import Crews, covered, erlang_b, erlang_c, mean_out, spares_for


@pytest.mark.parametrize(
    ("nodes", "rate", "days", "wanted"),
    [
        (2048, 3.79e-3, 3, [31, 35, 40]),
        (2048, 6.5e-3, 3, [51, 55, 61]),
        (2048, 6.5e-3, 14, [209, 219, 230]),
        (128, 6.5e-3, 3, [5, 7, 9]),
    ],
)
def test_the_known_table(nodes: int, rate: float, days: float, wanted: list[int]) -> None:
    mean = mean_out(nodes, rate, days)
    assert [spares_for(level, mean) for level in (0.95, 0.99, 0.999)] == wanted


@pytest.mark.parametrize(("servers", "load", "lost"), [(1, 1.0, 0.5), (2, 1.0, 0.2), (10, 5.0, 0.018385)])
def test_erlang_b_tables(servers: int, load: float, lost: float) -> None:
    assert erlang_b(servers, load) == pytest.approx(lost, abs=1e-6)


def test_erlang_c_of_one_server_is_its_load() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(3, 3.0) == 1.0


@given(st.floats(0.1, 300), st.floats(0.5, 0.999))
def test_many_crews_are_the_poisson_answer(mean: float, confidence: float) -> None:
    assert Crews(2000, mean).spares_for(confidence) == spares_for(confidence, mean)


@pytest.mark.parametrize("mean", [0.5, 40.0, 1000.0])  # terms of the last one overflow without their scale
def test_many_crews_cover_what_poisson_says(mean: float) -> None:
    for spares in (int(0.9 * mean), int(mean), int(1.1 * mean)):
        assert Crews(2000, mean).covered(spares) == pytest.approx(covered(spares, mean), rel=1e-9)


@given(st.floats(0.1, 40), st.integers(1, 60), st.floats(0.5, 0.999))
def test_fewer_crews_never_need_fewer_spares(mean: float, more: int, confidence: float) -> None:
    crews = int(mean) + 1
    if crews <= mean:
        crews += 1
    few, many = Crews(crews, mean), Crews(crews + more, mean)
    assert few.spares_for(confidence) >= many.spares_for(confidence)
    assert few.mean_out >= many.mean_out >= mean


def test_one_crew_is_the_geometric_queue() -> None:
    crew = Crews(1, 0.5)
    assert crew.mean_out == pytest.approx(1.0)
    assert crew.spares_for(0.9375) == 3  # 1 - 0.5^4


def test_a_queue_that_grows_for_ever_is_reported() -> None:
    with pytest.raises(NoProgress, match="no number of spares is enough"):
        Crews(5, 39.9)


def test_only_what_stays_away_needs_a_spare() -> None:
    assert mean_out(100, 0.01, 3, swap_share=0.2) == pytest.approx(mean_out(100, 0.01, 3) / 5)
    assert covered(spares_for(0.95, 7.0), 7.0) >= 0.95


def test_crews_that_are_all_but_overrun_are_answered_at_once() -> None:
    assert Crews(40, 39.99999999999999).spares_for(0.5) > 1e12


def test_two_crews_are_erlangs_queue_by_hand() -> None:
    """M/M/2 with a load of 1: none out with 1/3, one with 1/3, two with 1/6, and half as likely each time after."""
    crews = Crews(2, 1.0)
    assert crews.waits == pytest.approx(1 / 3)
    assert [crews.covered(spares) for spares in range(4)] == [
        pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(5 / 6), pytest.approx(11 / 12)
    ]  # fmt: skip
    assert [crews.spares_for(level) for level in (0.3, 0.5, 0.8, 0.9, 0.95)] == [0, 1, 2, 3, 4]


def test_five_crews_cover_what_their_terms_say() -> None:
    """Load 2 of 5: P(0) = 1 / (sum of 2^n/n! for n < 5, plus 2^5/5! * 5/3)."""
    terms = [1.0, 2.0, 2.0, 4 / 3, 2 / 3]
    whole = sum(terms) + 2**5 / 120 * 5 / 3
    crews = Crews(5, 2.0)
    for spares in range(5):
        assert crews.covered(spares) == pytest.approx(sum(terms[: spares + 1]) / whole)
    for level in (0.5, 0.9, 0.99, 0.999):
        needed = crews.spares_for(level)
        assert crews.covered(needed) >= level > crews.covered(needed - 1)


def test_where_nothing_fails_no_spare_is_needed() -> None:
    assert (Crews(1, 0.0).spares_for(0.999), Crews(1, 0.0).covered(0)) == (0, 1.0)
    assert erlang_b(0, 1.0) == 1.0


def test_queues_by_hand() -> None:
    assert mean_out(100, 0.01, 3) == pytest.approx(3)
    assert Crews(2, 1.0).mean_out == pytest.approx(4 / 3)
    assert Crews(4, 0.0).mean_out == 0
    assert [erlang_c(2, load) for load in (1.0, 2.0, 5.0)] == [pytest.approx(1 / 3), 1.0, 1.0]
    assert [erlang_b(2, load) for load in (0.0, 2.0)] == [0, pytest.approx(0.4)]
    with pytest.raises(NoProgress):
        Crews(5, 5.0)


@pytest.mark.parametrize(
    ("level", "spares"), [(0.4, 0), (0.5, 0), (0.51, 1), (0.75, 1), (0.76, 2), (0.875, 2), (0.9, 3)]
)
def test_one_crew_covers_half_of_what_is_left_with_each_spare(level: float, spares: int) -> None:
    crew = Crews(1, 0.5)
    assert crew.spares_for(level) == spares
    assert crew.covered(spares) == pytest.approx(1 - 0.5 ** (spares + 1))
