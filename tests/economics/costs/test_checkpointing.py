"""Intervals beside a brute-force search, the ledger beside its sum, and where the closed forms end."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.feasible import BadNumber, NoProgress

LLAMA = 54 * 86400 / 419
BETWEEN = st.floats(60, 1e7)


def brute(write: float, between: float) -> float:
    """By golden section on the exact expected time: no formula of ours inside."""
    low, high, ratio = 1e-6 * between, 3 * between, (math.sqrt(5) - 1) / 2

    def cost(tau: float) -> float:
        return math.expm1((tau + write) / between) / tau

    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if cost(a) < cost(b) else (a, high)
    return (low + high) / 2


@given(BETWEEN, st.floats(2e-4, 3e-2))
def test_daly_is_within_a_thousandth_of_the_optimum(between: float, ratio: float) -> None:
    assert c.daly_higher_order(ratio * between, between) == pytest.approx(brute(ratio * between, between), rel=1e-3)


@given(BETWEEN, st.floats(1e-6, 0.99))
def test_the_best_interval_is_the_brute_one(between: float, ratio: float) -> None:
    assert c.best_interval(ratio * between, between) == pytest.approx(brute(ratio * between, between), rel=1e-5)


@given(BETWEEN, st.floats(1e-5, 0.9), st.floats(0, 3), st.floats(1e-3, 5))
def test_the_ledger_sums_to_the_expected_time(between: float, write: float, restart: float, tau: float) -> None:
    ledger = c.expected_ledger(tau * between, write * between, between, restart * between)
    whole = between * math.exp(restart) * math.expm1(tau + write)
    assert ledger.total == pytest.approx(whole, rel=1e-9)
    assert sum(ledger.shares().values()) == pytest.approx(1, abs=1e-9)
    assert min(ledger.parts().values()) >= 0


@given(BETWEEN, st.floats(1e-5, 0.4), st.floats(0, 1))
def test_worse_inputs_never_deliver_more(between: float, write: float, restart: float) -> None:
    here = c.best_ettr(write * between, between, restart * between)
    assert 0 < here < 1
    assert c.best_ettr(2 * write * between, between, restart * between) <= here
    assert c.best_ettr(write * between, between, 2 * restart * between) <= here
    assert c.best_ettr(write * between, 2 * between, restart * between) >= here


def test_without_failures_or_cost_everything_is_productive() -> None:
    assert c.best_ettr(1e-6, 1e12, 0.0) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("write", "interval", "ettr"), [(2.5, 234.3, 0.9276), (60, 1116.3, 0.8526), (300, 2388.7, 0.7443)]
)
def test_a_known_run(write: float, interval: float, ettr: float) -> None:
    assert c.best_interval(write, LLAMA) == pytest.approx(interval, rel=1e-3)
    assert c.best_ettr(write, LLAMA, 600) == pytest.approx(ettr, abs=1e-4)


def test_the_closed_form_is_near_inside_its_validity_and_says_where_it_ends() -> None:
    inside = c.closed_form(1116, 60, LLAMA, 600)
    assert inside.valid and inside.ettr == pytest.approx(c.ettr(1116, 60, LLAMA, 600), rel=0.014)
    outside = c.closed_form(2000, 60, 1500, 600)
    assert not outside.valid and outside.ettr == 0


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_the_exact_share_is_what_a_played_run_delivers(seed: int) -> None:
    """A second by second story of failures, written without the formula."""
    chance, between, write, restart, tau = random.Random(seed), 3000.0, 60.0, 300.0, 550.0
    done = clock = 0.0
    for _ in range(20_000):
        up = chance.expovariate(1 / between)
        while up < tau + write:
            clock += up + restart
            while (again := chance.expovariate(1 / between)) < restart:
                clock += again
            up = chance.expovariate(1 / between)
        clock += tau + write
        done += tau
    assert done / clock == pytest.approx(c.ettr(tau, write, between, restart), rel=0.01)


def test_what_cannot_work_is_reported() -> None:
    with pytest.raises(NoProgress, match="no progress is possible: writing a checkpoint takes 700 s"):
        c.best_interval(700, 120)
    with pytest.raises(NoProgress, match="from one checkpoint to the next"):
        c.ettr(1e9, 1, 100, 1)
    with pytest.raises(NoProgress, match="no storage is fast enough"):
        c.write_seconds_for(0.99, LLAMA, 600)
    with pytest.raises(BadNumber, match="write time"):
        c.best_interval(0, 120)


@given(st.floats(0.5, 0.9))
def test_the_write_to_buy_reaches_the_target(target: float) -> None:
    write = c.write_seconds_for(target, LLAMA, 600)
    assert c.best_ettr(write, LLAMA, 600) == pytest.approx(target, abs=1e-6)


def test_no_storage_reaches_what_restarts_forbid() -> None:
    """Restarts of a tenth of the time between failures leave exp(-0.1)."""
    with pytest.raises(NoProgress):
        c.write_seconds_for(math.exp(-0.1), 1000.0, 100.0)
    fast = c.write_seconds_for(math.exp(-0.1) - 1e-3, 1000.0, 100.0)
    assert 0 < fast < 0.01
    assert c.best_ettr(fast, 1000.0, 100.0) >= math.exp(-0.1) - 1e-3


def test_the_published_intervals_by_hand() -> None:
    """d = 2, M = 4: sqrt(2 d M) = 4, d/2M = 1/4. From d = 2M on Daly says M."""
    assert (c.young(2, 4), c.daly(2, 4)) == (4, 2)
    assert c.daly_higher_order(2, 4) == pytest.approx(4 * (1 + 0.5 / 3 + 0.25 / 9) - 2)
    assert c.daly_higher_order(3.99, 2) < 1.8
    assert (c.daly_higher_order(4, 2), c.daly_higher_order(4.1, 2)) == (2, 2)


@pytest.mark.parametrize("ratio", [1e-9, 0.01, 1.0, 2.0, 3.5, 5.0])
def test_the_best_interval_solves_its_equation(ratio: float) -> None:
    x = c.best_interval(100 * ratio, 100) / 100
    assert 0 < x < 1
    assert (x - 1) * math.exp(x + ratio) + 1 == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("possible", "not_so"),  # (write, between, restart)
    [((50, 10, 0), (50.1, 10, 0)), ((1, 10, 5000), (1, 10, 5001)), ((1e-4, 1e-3), (1e-4, 1e-3, 1))],
)
def test_where_progress_ends(possible: tuple[float, ...], not_so: tuple[float, ...]) -> None:
    c.refuse_hopeless(*possible)
    with pytest.raises(NoProgress):
        c.refuse_hopeless(*not_so)


def test_an_interval_may_be_five_hundred_times_between_failures() -> None:
    assert c.expected_ledger(4998, 2, 10, 0).total == pytest.approx(10 * math.expm1(500))
    with pytest.raises(NoProgress):
        c.expected_ledger(4999, 2, 10, 0)


def test_the_ledger_of_one_short_interval_by_hand() -> None:
    """tau = d = 1, M = 1000, R = 10: e^0.002 - 1 failures."""
    ledger = c.expected_ledger(1, 1, 1000, 10)
    assert (ledger.productive, ledger.checkpoint) == (1, 1)
    assert ledger.rework == pytest.approx(0.002001334, rel=1e-5)
    assert ledger.restart == pytest.approx(2.002001 * 0.010050167, rel=1e-5)
    assert c.ettr(1, 1, 1000, 10) == pytest.approx(1 / (2.002001334 * math.exp(0.01)))


@pytest.mark.parametrize(("restart", "valid"), [(199, True), (200, False), (201, False)])
def test_a_quarter_lost_is_too_much_for_the_closed_form(restart: float, valid: bool) -> None:
    found = c.closed_form(100, 10, 1000, restart)
    assert found.valid is valid
    assert (found.lost, found.ettr) == (pytest.approx((restart + 50) / 1000), pytest.approx((1 - found.lost) / 1.1))


@pytest.mark.parametrize(("target", "reached"), [(0.3, 0.3), (0.9, 0.9), (0.05, 0.1585943)])
def test_no_write_to_buy_is_longer_than_between_failures(target: float, reached: float) -> None:
    write = c.write_seconds_for(target, 100.0, 0.0)
    assert write <= 100.0
    assert c.best_ettr(write, 100.0, 0.0) == pytest.approx(reached)
