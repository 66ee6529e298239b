"""Several levels: the nested optimum beside brute force, and when memory pays."""

import random
from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.feasible import NoProgress
from holdfast.economics.costs.levels import (
    Level,
    Tiers,
    _near,
    memory_or_storage,
    schedule,
    single_waste,
    storage_write_seconds_for,
)

RARE = st.floats(1e-8, 1e-6)


def level(name: str, write: float, rate: float, restart: float = 0.0) -> Level:
    return Level(name=name, write_seconds=write, failures_per_second=rate, restart_seconds=restart)


@given(st.floats(0.1, 20), RARE, st.floats(20, 300), RARE)
def test_no_whole_multiple_does_better(small: float, often: float, large: float, seldom: float) -> None:
    found = schedule([level("memory", small, often), level("storage", large, seldom)])
    brute = min(sqrt(2 * (small + large / k) * (often + seldom * k)) for k in {*range(1, 400), *found.multiples})
    assert found.waste <= brute * (1 + 1e-12)
    assert found.waste == pytest.approx(brute, rel=1e-9) or found.multiples[1] >= 400
    assert found.intervals["storage"] == pytest.approx(found.multiples[1] * found.intervals["memory"])


@given(st.floats(0.1, 20), RARE, st.floats(20, 300), RARE)
def test_nesting_costs_at_least_the_free_optimum(small: float, often: float, large: float, seldom: float) -> None:
    found = schedule([level("memory", small, often), level("storage", large, seldom)])
    assert found.waste >= found.unnested * 0.7071  # shared writes may save, never more than both levels being one
    assert found.valid == (found.waste < 0.25)


def test_one_level_is_young() -> None:
    found = schedule([level("storage", 60, 1e-5, 300)])
    assert found.intervals["storage"] == pytest.approx(sqrt(2 * 60 / 1e-5))
    assert found.waste == pytest.approx(single_waste(level("storage", 60, 1e-5, 300)))


def test_memory_pays_when_it_is_cheap_and_survives_and_not_otherwise() -> None:
    rate = 1e-4
    good = memory_or_storage(level("memory", 1, 0.99 * rate), level("storage", 60, 0.01 * rate))
    poor = memory_or_storage(level("memory", 50, 0.05 * rate), level("storage", 60, 0.95 * rate))
    assert good.memory_wins and not poor.memory_wins
    assert not memory_or_storage(
        level("memory", 1, 0.99 * rate), level("storage", 60, 0.01 * rate), memory_overhead=0.5
    ).memory_wins


def test_the_storage_to_buy_is_far_less_with_a_memory_tier() -> None:
    memory, storage = level("memory", 2, 0.95e-4, 60), level("storage", 60, 0.05e-4, 300)
    write = storage_write_seconds_for(0.95, memory, storage)
    assert single_waste(memory) + single_waste(level("storage", write, 0.05e-4, 300)) == pytest.approx(0.05)
    with pytest.raises(NoProgress, match="no storage is fast enough"):
        storage_write_seconds_for(0.9999, memory, storage)


def test_a_hopeless_schedule_is_reported() -> None:
    with pytest.raises(NoProgress, match="no progress is possible"):
        schedule([level("storage", 6000, 1e-3)])


def test_three_levels_nest() -> None:
    found = schedule([level("peer", 1, 1e-4), level("disk", 10, 1e-5), level("storage", 120, 1e-6)])
    assert len(found.multiples) == 3 and found.waste < inf
    each = list(found.intervals.values())
    assert each == sorted(each)


def test_a_played_run_wastes_what_the_schedule_says() -> None:
    """Two kinds of failure: the small ones lose the work since any write, the large ones since that to storage."""
    chance = random.Random(7)
    memory, storage = level("memory", 0.5, 2e-4, 20), level("storage", 8, 2e-5, 60)
    found = schedule([memory, storage])
    step, every = found.intervals["memory"], found.multiples[1]
    clock = done = 0.0
    saved, stored = 0, 0  # steps kept in memory and in storage
    rate = memory.failures_per_second + storage.failures_per_second
    until_failure = chance.expovariate(rate)
    while saved < 300_000:
        length = step + memory.write_seconds + (storage.write_seconds if (saved + 1) % every == 0 else 0)
        if until_failure > length:
            until_failure -= length
            clock += length
            saved += 1
            stored = saved if saved % every == 0 else stored
            continue
        small = chance.random() < memory.failures_per_second / rate
        clock += until_failure + (memory if small else storage).restart_seconds
        saved = saved if small else stored
        until_failure = chance.expovariate(rate)
    done = saved * step
    # Waste is told per productive second, as the first-order formula counts it.
    assert (clock - done) / done == pytest.approx(found.waste, rel=0.06)


def test_a_level_that_should_be_written_oftener_is_written_with_the_one_below() -> None:
    found = schedule([level("memory", 10, 1e-6), level("storage", 11, 1e-4)])
    assert found.multiples == (1, 1)


def test_all_of_the_time_is_too_much() -> None:
    """One level: sqrt(2 d lambda) and the restarts."""
    with pytest.raises(NoProgress):
        schedule([level("storage", 1.0, 0.5)])  # just all of it
    assert schedule([level("storage", 1.0, 0.499)]).waste == pytest.approx(sqrt(0.998))
    with pytest.raises(NoProgress):
        storage_write_seconds_for(0.9, level("memory", 0.5, 0.01), level("storage", 1.0, 0.01))


def test_memory_that_is_no_better_does_not_win() -> None:
    found = memory_or_storage(level("memory", 1, 1e-4), level("storage", 60, 1e-6))
    even = memory_or_storage(
        level("memory", 1, 1e-4), level("storage", 60, 1e-6), memory_overhead=found.storage_only - found.with_memory
    )
    assert found.memory_wins
    assert not even.memory_wins or even.with_memory < even.storage_only


def test_the_waste_of_one_level_by_hand() -> None:
    """sqrt(2 * 2 * 0.01) and a hundredth of 5 s."""
    assert single_waste(level("a", 2, 0.01, 5)) == pytest.approx(0.25)
    assert single_waste(Level(name="a", write_seconds=2, failures_per_second=0.01)) == pytest.approx(0.2)
    assert single_waste(level("a", 2, 0.0, 5)) == 0.0


@pytest.mark.parametrize(
    ("ratio", "near"), [(0.0, [1, 2, 3]), (1.4, [1, 2, 3]), (2.0, [1, 2, 3, 4]), (7.6, [6, 7, 8, 9, 10])]
)
def test_multiples_are_searched_two_to_both_sides(ratio: float, near: list[int]) -> None:
    assert list(_near(ratio)) == near


@pytest.mark.parametrize(("rate", "valid"), [(1 / 33, True), (1 / 32, False), (1 / 31, False)])
def test_a_quarter_wasted_is_too_much_for_the_first_order(rate: float, valid: bool) -> None:
    assert schedule([level("a", 1, rate)]).valid is valid


def test_a_nested_schedule_by_hand() -> None:
    """Free intervals 100, 400 and 1200 s: multiples of 4 and 3. A = 5 + 20/4 + 60/12, B = 1e-3 + 1e-3 + 1e-3."""
    plan = [level("a", 5, 1e-3, 10), level("b", 20, 2.5e-4, 20), level("c", 60, 1e-3 / 12, 60)]
    found = schedule(plan)
    assert found.multiples == (1, 4, 3)
    assert found.intervals == pytest.approx({"a": 100.0, "b": 400.0, "c": 1200.0})
    assert found.waste == pytest.approx(sqrt(2 * 15 * 3e-3) + 0.01 + 0.005 + 0.005)
    assert found.unnested == pytest.approx(sum(single_waste(one) for one in plan))
    assert schedule(plan[:1]).multiples == (1,)


def test_memory_beside_storage_by_hand() -> None:
    memory, storage = level("memory", 1, 1e-4, 10), level("storage", 50, 1e-6, 100)
    found = memory_or_storage(memory, storage)
    assert found.storage_only == pytest.approx(sqrt(2 * 50 * 1.01e-4) + 1.01e-4 * 100)
    assert found.with_memory == found.schedule.waste == schedule([memory, storage]).waste
    assert memory_or_storage(memory, storage, 0.25).with_memory == pytest.approx(found.with_memory + 0.25)
    for waste, wins in ((0.1, True), (0.2, False), (0.3, False)):
        assert Tiers(waste, 0.2, found.schedule).memory_wins is wins


def test_the_storage_to_buy_by_hand() -> None:
    """The memory tier wastes a quarter; what is left to storage of rate 1/8, squared and by twice the rate."""
    memory = level("memory", 0.5, 1 / 16)
    assert storage_write_seconds_for(0.25, memory, level("storage", 9, 1 / 8)) == 0.5**2 / (2 / 8)
    assert storage_write_seconds_for(0.25, memory, level("storage", 9, 1 / 8, 2)) == 0.25**2 / (2 / 8)
    with pytest.raises(NoProgress):
        storage_write_seconds_for(0.75, memory, level("storage", 9, 1 / 8))  # nothing at all is left
