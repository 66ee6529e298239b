"""Power: what speaks for a lost supply, a limit or the brake, and how much."""

from typing import Any

import pytest

from holdfast.seams.rules.power_limit import SEAM as LIMIT
from holdfast.seams.rules.power_supply import SEAM as SUPPLY
from tests.seams.making import START, Make, change, gpus, happens, hot, measured, nodes, of, without

VOLTS, HEALTHY, OUTPUT = "feed_voltage_volts", "psu_healthy", "psu_output_watts"
REASONS, CLOCK, USE, LIMITS = (
    "gpu_clock_event_reasons",
    "gpu_clock_sm_hertz",
    "gpu_utilization_ratio",
    "gpu_power_limit_watts",
)
CAP, BRAKE = 4.0, 128.0


def _capped(first: int, last: int, reason: float = CAP) -> Make:
    return gpus(REASONS, nodes(first, last), by=reason)


def _ordered(place: str, times: float = 0.8) -> Make:
    signal = "feed_power_limit_watts" if place.startswith("feed/") else "rack_power_limit_watts"
    return of(measured(signal, {place: 40_000.0}), change(signal, place, times=times))


def _named(world: Any) -> dict[tuple[str, str], float]:
    return {place: pytest.approx(one.score - START, abs=1e-3) for place, one in world.candidates(LIMIT).items()}


NOT_HOT = 0.5
LOWERED = of(
    measured(LIMITS, {f"node/n{n}/gpu/{i}": 700.0 for n in (4, 5, 6) for i in (0, 1)}), change(LIMITS, times=0.9)
)


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("all of a rack", _capped(4, 6), {"rack/r2": 3.5 + NOT_HOT}),
        ("two of three are not all", _capped(4, 5), {"node/n4": 3.5 + NOT_HOT, "node/n5": 3.5 + NOT_HOT}),
        ("two of two that work are", of(_capped(4, 5), gpus(USE, nodes(6, 6), times=0.1)), {"rack/r2": 3.5 + NOT_HOT}),
        ("one node is no rack", of(_capped(4, 4), gpus(USE, nodes(5, 6), times=0.1)), {"node/n4": 3.5 + NOT_HOT}),
        ("every rack of two feeds: nobody can tell which", _capped(1, 12), {"feed/a": 3.5 - 1 + NOT_HOT, "feed/b": 3.5 - 1 + NOT_HOT}),
        ("the feed tells", of(_capped(1, 12), _ordered("feed/a")), {"feed/a": 3.5 + 2 + NOT_HOT}),
        ("the rack tells", of(_capped(4, 6), _ordered("rack/r2")), {"rack/r2": 3.5 + 2 + NOT_HOT}),
        ("a rack's limit fell by a hair", of(_capped(4, 6), _ordered("rack/r2", 0.98)), {"rack/r2": 3.5 + NOT_HOT}),
        ("their GPUs are hot", of(_capped(4, 6), hot(nodes(4, 5))), {"rack/r2": 3.5 - 2}),
        ("one of two is hot", of(_capped(4, 5), gpus(USE, nodes(6, 6), times=0.1), hot(nodes(4, 4))), {"rack/r2": 3.5 - 2}),
        ("one of three is hot", of(_capped(4, 6), hot(nodes(4, 4))), {"rack/r2": 3.5 + NOT_HOT}),
        ("a supply behind it failed: what is left holds it back", of(_capped(4, 6), change(HEALTHY, "psu/r2-a", times=0.0)), {"rack/r2": 3.5 - 4 + NOT_HOT}),
        ("the supply of another rack failed", of(_capped(4, 6), change(HEALTHY, "psu/r1-a", times=0.0)), {"rack/r2": 3.5 + NOT_HOT}),
        ("a supply failed, but the rack was told to", of(_capped(4, 6), _ordered("rack/r2"), change(HEALTHY, "psu/r2-a", times=0.0)), {"rack/r2": 3.5 + 2 + NOT_HOT}),
        ("a rack that tells is named beside others of its feed", of(_capped(1, 12), _ordered("rack/r2")), {f"rack/r{n}": 3.5 + NOT_HOT + (2 if n == 2 else 0) for n in range(1, 5)}),
        ("the drivers say whose limit was lowered", of(LOWERED, gpus(CLOCK, nodes(4, 6), times=0.9)), {"rack/r2": 3.5 + NOT_HOT}),
        ("a lower limit that slows no clock holds nothing back", LOWERED, {}),
        ("a lower limit on nodes without work", of(LOWERED, without(CLOCK), gpus(USE, nodes(4, 6), times=0.0)), {}),
        ("a lower limit, and no clock is read", of(LOWERED, without(CLOCK)), {"rack/r2": 3.5 + NOT_HOT}),
    ],
)  # fmt: skip
def test_who_holds_back_and_how_sure(quiet: Any, why: str, make: Make, found: dict[str, float]) -> None:
    make(quiet)
    assert {(place, "power.cap"): score for place, score in found.items()} == _named(quiet), why


def _event(at: float) -> Make:
    return happens("power_brake", "node/n5", at)


SLOW = gpus(CLOCK, nodes(5, 5), times=0.9)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("the devices say so", _capped(5, 5, BRAKE), 3.5),
        ("an event, and the node is slow still", of(_event(1800.0), SLOW), 2.5),
        ("it is as fast as ever", _event(1800.0), None),
        ("nobody sees how fast it is", of(_event(1800.0), without(CLOCK)), 2.5),
        ("ten minutes ago", of(_event(1790.0), SLOW), 2.5),
        ("longer ago", of(_event(1789.0), SLOW), None),
    ],
)
def test_how_sure_the_brake_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(LIMIT).get(("node/n5", "power.brake"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
    if found is not None:
        assert found.proven is (score == 3.5), "an event is no proof by itself"


def test_a_brake_is_not_doubted_for_its_heat(quiet: Any) -> None:
    of(_capped(4, 6, BRAKE), hot(nodes(4, 6)))(quiet)
    assert quiet.candidates(LIMIT)["rack/r2", "power.brake"].score == START + 3.5


@pytest.mark.parametrize(
    ("before", "now", "found"), [(0.0, 0.5, True), (0.0, 0.3, False), (0.19, 1.0, True), (0.25, 1.0, False)]
)
def test_a_reason_counts_that_is_reported_now_and_was_not_before(
    quiet: Any, before: float, now: float, found: bool
) -> None:
    """At least half of the last minute, less than a fifth of the calm beginning."""
    table = quiet.tables[REASONS]
    for gpu in ("node/n5/gpu/0", "node/n5/gpu/1"):
        row = table.values[table.index[gpu]]
        row[: round(80 * before)] = CAP
        row[240 - round(6 * now) :] = CAP
    assert (("node/n5", "power.cap") in quiet.candidates(LIMIT)) is found


SUPPLIES = tuple(f"psu/r{n}-a" for n in range(1, 5))


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its supplies fail with it", of(change(VOLTS, "feed/a", times=0.5), change(HEALTHY, *SUPPLIES, times=0.0)), 3 + 2),
        ("half of them do", of(change(VOLTS, "feed/a", times=0.5), change(HEALTHY, *SUPPLIES[:2], times=0.0)), 3 - 2.5),
        ("none does", change(VOLTS, "feed/a", by=-83.0), 3 - 2.5),
        ("they bear a smaller sag", change(VOLTS, "feed/a", times=0.81), 3),
        ("those of the other feed fail", of(change(VOLTS, "feed/a", times=0.5), change(HEALTHY, *(f"psu/r{n}-b" for n in range(1, 5)), times=0.0)), 3 - 2.5),
    ],
)  # fmt: skip
def test_how_sure_a_lost_feed_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    found = quiet.candidates(SUPPLY)["feed/a", "power.feed_lost"]
    assert (found.score, found.proven) == (pytest.approx(START + score), True), why


OUTPUTS = measured(OUTPUT, {f"psu/r{n}-{f}": 4000.0 for n in range(1, 5) for f in "ab"})
FAILED = change(HEALTHY, "psu/r2-a", times=0.0)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("it says so", FAILED, 3),
        ("its feed is gone", of(FAILED, change(VOLTS, "feed/a", times=0.5)), 3 - 2),
        ("the other feed is gone", of(FAILED, change(VOLTS, "feed/b", times=0.5)), 3),
        ("its load moved to the one beside it", of(OUTPUTS, change(OUTPUT, "psu/r2-a", times=0.5), change(OUTPUT, "psu/r2-b", times=1.5)), 1.5),
        ("it says so and its load moved", of(FAILED, OUTPUTS, change(OUTPUT, "psu/r2-a", times=0.1), change(OUTPUT, "psu/r2-b", times=1.9)), 3 + 1.5),
        ("not half of its load", of(OUTPUTS, change(OUTPUT, "psu/r2-a", times=0.51), change(OUTPUT, "psu/r2-b", times=1.5)), None),
        ("the rack needs less", of(OUTPUTS, change(OUTPUT, "psu/r2-a", "psu/r2-b", times=0.4)), None),
        ("another rack needs more", of(OUTPUTS, change(OUTPUT, "psu/r2-a", times=0.4), change(OUTPUT, "psu/r1-b", times=1.5)), None),
    ],
)  # fmt: skip
def test_how_sure_a_failed_supply_is(quiet: Any, why: str, make: Make, score: float | None) -> None:
    make(quiet)
    found = quiet.candidates(SUPPLY).get(("psu/r2-a", "power.psu"))
    assert (None if found is None else found.score) == (None if score is None else pytest.approx(START + score)), why
