"""Limits of the cooling rules that speak of several nodes, racks or units, and what a rule says where little is measured."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.cooling_ambient import SEAM as AMBIENT
from holdfast.seams.rules.cooling_fan import SEAM as FAN
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_plant import SEAM as PLANT
from holdfast.seams.rules.cooling_pump import SEAM as PUMP
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.cooling_unmetered import SEAM as UNMETERED
from tests.seams.making import START, Make, change, gpus, hot, linked, nodes, of, without

CDU, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
PRESSURE, SUPPLY, INLET = "cdu_differential_pressure_pascals", "cdu_supply_celsius", "rack_inlet_celsius"
HEAT, WATTS, USE, SPEED = "gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio", "fan_speed_ratio"
ROOM, AIR, CLOCK = "ambient_celsius", "node_inlet_celsius", "gpu_clock_sm_hertz"
NAN = float("nan")


def _fleet(world: Any, count: int) -> list[str]:
    """So many nodes with a fan and a GPU each, all at work."""
    names = [f"node/x{number}" for number in range(count)]
    parts = [f"{name}/gpu/0" for name in names]
    world.add(SPEED, dict.fromkeys(names, 0.5))
    world.add(HEAT, dict.fromkeys(parts, 62.0))
    world.add(USE, dict.fromkeys(parts, 0.95))
    world.add(WATTS, dict.fromkeys(parts, 650.0))
    return names


@pytest.mark.parametrize(("count", "slower", "alone"), [(100, 2, True), (99, 2, False), (100, 3, False), (10, 1, True)])
def test_fans_of_two_nodes_of_a_hundred_fail_alone(quiet: Any, count: int, slower: int, alone: bool) -> None:
    names = _fleet(quiet, count)
    quiet.change(SPEED, *names[:slower], times=0.5)
    assert quiet.candidates(FAN)[names[0], "cooling.fan"].most == (1.0 if alone else 4.0)


@pytest.mark.parametrize(("far", "most"), [(0.5, 1.0), (0.51, 4.0)])
def test_a_fan_at_half_of_its_speed_is_broken_by_itself(quiet: Any, far: float, most: float) -> None:
    change(SPEED, "node/n4", times=far)(quiet)
    assert quiet.candidates(FAN)["node/n4", "cooling.fan"].most == most


@pytest.mark.parametrize(("resting", "doubted"), [(3, False), (4, True)])
def test_more_than_three_in_ten_others_at_rest_have_slower_fans(quiet: Any, resting: int, doubted: bool) -> None:
    names = _fleet(quiet, 30)
    quiet.change(USE, *(f"{name}/gpu/0" for name in names[:11]), times=0.1)
    quiet.change(SPEED, *names[: 1 + resting], times=0.7)
    doubts = quiet.candidates(FAN)[names[0], "cooling.fan"].doubts
    assert any("less load" in words for words in doubts) is doubted


@pytest.mark.parametrize(
    ("why", "hot_ones", "speed", "misread"),
    [
        ("half of them are hot", 2, 0.0, True),
        ("more than half", 3, 0.0, False),
        ("what turns a little and is hot fails: three are left", 1, 0.009, True),
        ("two are left", 2, 0.009, False),
        ("one that stands counts though it is hot", 1, 0.0, True),
    ],
)
def test_fans_of_four_nodes_that_stop_together(
    quiet: Any, why: str, hot_ones: int, speed: float, misread: bool
) -> None:
    change(SPEED, *nodes(4, 7), times=0.0)(quiet)
    change(SPEED, *nodes(4, 7), by=speed)(quiet)
    hot(nodes(4, 3 + hot_ones))(quiet)
    assert any(kind == "sensor.absurd" for _, kind in quiet.candidates(FAN)) is misread, why


@pytest.mark.parametrize(("speed", "misread"), [(0.01, True), (0.011, False)])
def test_a_fan_that_turns_at_a_hundredth_stands(quiet: Any, speed: float, misread: bool) -> None:
    change(SPEED, *nodes(4, 6), times=0.0)(quiet)
    change(SPEED, *nodes(4, 6), by=speed)(quiet)
    assert any(kind == "sensor.absurd" for _, kind in quiet.candidates(FAN)) is misread


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("five degrees, alone", gpus(HEAT, nodes(4, 4), by=5.0), 2 + 1),
        ("less than five", gpus(HEAT, nodes(4, 4), by=4.9), 2 + 1 - 3),
        ("the others half as much warmer", of(gpus(HEAT, nodes(4, 4), by=5.7), gpus(HEAT, nodes(1, 3), by=2.9), gpus(HEAT, nodes(5, 12), by=2.9)), 2 + 1 - 3),
        ("not half as much", of(gpus(HEAT, nodes(4, 4), by=5.7), gpus(HEAT, nodes(1, 3), by=2.8), gpus(HEAT, nodes(5, 12), by=2.8)), 2 + 1),
        ("nobody else works", of(gpus(HEAT, nodes(4, 4), by=5.7), gpus(USE, nodes(1, 3), times=0.1), gpus(USE, nodes(5, 12), times=0.1)), 2 + 1),
        ("the flow of its rack is not measured", of(gpus(HEAT, nodes(4, 4), by=5.7), without(RACK_FLOW)), 2),
    ],
)  # fmt: skip
def test_a_hot_node_whose_fans_nobody_measures(quiet: Any, why: str, make: Make, score: float) -> None:
    of(without(SPEED), make)(quiet)
    found = quiet.candidates(FAN)["node/n4", "cooling.fan"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), 1.0), why
    assert found.unknown == ["node/n4: its fans are not measured"]


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("five degrees, and no rack beside it", gpus(HEAT, nodes(4, 6), by=5.0), 2 + 1),
        ("less than five", gpus(HEAT, nodes(4, 6), by=4.9), 2 + 1 - 3),
        ("racks of the other unit three tenths as much warmer", of(gpus(HEAT, nodes(4, 6), by=6.0), gpus(HEAT, nodes(7, 12), by=1.9)), 2 + 1 - 3),
        ("not three tenths", of(gpus(HEAT, nodes(4, 6), by=6.0), gpus(HEAT, nodes(7, 12), by=1.7)), 2 + 1),
        ("nobody else works", of(gpus(HEAT, nodes(4, 6), by=6.0), gpus(USE, nodes(1, 3), times=0.1), gpus(USE, nodes(7, 12), times=0.1)), 2 + 1),
    ],
)  # fmt: skip
def test_a_hot_rack_whose_flow_nobody_measures(quiet: Any, why: str, make: Make, score: float) -> None:
    of(without(RACK_FLOW), make)(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert found.score == pytest.approx(START + score, abs=1e-3), why


HALF = change(CDU, "cdu/c1", times=0.5)
REST = of(gpus(USE, nodes(1, 3), times=0.05), gpus(WATTS, nodes(1, 3), times=0.1))


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("the load behind its unit fell as much", of(HALF, REST), 2 + 1 - 3, 0.0),
        ("the unit delivers as much as ever", REST, 2 + 1, 1.2),
        ("the load of the other unit fell", of(change(CDU, "cdu/c2", times=0.5), REST), 2 + 1, 1.2),
    ],
)
def test_a_hot_rack_behind_a_unit_that_follows_its_load(
    quiet: Any, why: str, make: Make, score: float, most: float
) -> None:
    of(without(RACK_FLOW), hot(nodes(4, 6)), make)(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), most), why


LESS = change(RACK_FLOW, "rack/r2", times=0.9)
ONLY_RACK = of(lambda world: world.unlink("cdu/c1", "rack/r1"), without(PRESSURE))


@pytest.mark.parametrize(
    ("why", "make", "most", "unknown"),
    [
        ("the rack beside it is well", of(LESS, gpus(HEAT, nodes(4, 6), by=6.0)), 4.0, False),
        ("no rack beside it, but a third of its nodes is hot", of(ONLY_RACK, LESS, hot(nodes(4, 5))), 4.0, False),
        ("fewer are", of(ONLY_RACK, LESS, hot(nodes(4, 4))), 0.0, True),
        ("they were hot within a quarter of an hour", of(ONLY_RACK, change(RACK_FLOW, "rack/r2", times=0.9, at=100), hot(nodes(4, 6), at=190)), 4.0, False),
        ("they were hot later", of(ONLY_RACK, change(RACK_FLOW, "rack/r2", times=0.9, at=100), hot(nodes(4, 6), at=191)), 0.0, True),
        ("they were hot later, but so much must warm them", of(ONLY_RACK, change(RACK_FLOW, "rack/r2", times=0.65, at=100), hot(nodes(4, 6), at=191)), 4.0, False),
        ("not so much", of(ONLY_RACK, change(RACK_FLOW, "rack/r2", times=0.66, at=100), hot(nodes(4, 6), at=191)), 0.0, True),
        ("so much, but nobody is hot", of(ONLY_RACK, change(RACK_FLOW, "rack/r2", times=0.5)), 0.0, True),
        ("the pressure of its unit rose", of(lambda world: world.unlink("cdu/c1", "rack/r1"), LESS, change(PRESSURE, "cdu/c1", times=1.2)), 4.0, False),
    ],
)  # fmt: skip
def test_a_flow_meter_that_nothing_else_confirms(quiet: Any, why: str, make: Make, most: float, unknown: bool) -> None:
    make(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert (found.most, bool(found.unknown)) == (most, unknown), why


@pytest.mark.parametrize(("make", "most"), [(REST, 0.0), (of(), 4.0)])
def test_racks_lose_flow_where_the_load_of_one_beside_them_fell(quiet: Any, make: Make, most: float) -> None:
    of(change(RACK_FLOW, "rack/r1", "rack/r2", times=0.6), hot(nodes(4, 6)), make)(quiet)
    assert quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"].most == most


def test_a_rack_beside_it_through_which_nothing_ever_flowed_has_not_lost_flow(quiet: Any) -> None:
    quiet.tables[RACK_FLOW].values[0] = 0.0
    of(change(RACK_FLOW, "rack/r2", times=0.5), hot(nodes(4, 6)))(quiet)
    assert quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"].score == pytest.approx(START + 2.5 + 1 + 2)


@pytest.mark.parametrize(("of_ten", "found"), [(7, True), (6, False)])
def test_seven_working_nodes_of_ten_are_a_hot_rack(quiet: Any, of_ten: int, found: bool) -> None:
    names = _fleet(quiet, 10)
    quiet.link(*(Edge("cools", "rack/x", name) for name in names))
    quiet.change(HEAT, *(f"{name}/gpu/0" for name in names[:of_ten]), by=15.0)
    assert (("rack/x", "cooling.rack_blocked") in quiet.candidates(RACK)) is found


def test_a_hot_node_that_hardly_works_has_no_rise_to_compare(quiet: Any) -> None:
    quiet.tables[USE].values[:] = 0.6
    of(without(SPEED), hot(nodes(4, 4)), gpus(USE, nodes(4, 4), by=-0.31))(quiet)
    assert "node/n4" not in quiet.scene.loaded
    assert not any("slightly warmer" in words for words in quiet.candidates(FAN)["node/n4", "cooling.fan"].doubts)


def test_of_the_nodes_of_a_hot_rack_those_that_nobody_sees_do_not_count(quiet: Any) -> None:
    names = _fleet(quiet, 10)
    quiet.link(*(Edge("cools", "rack/x", name) for name in names))
    quiet.change(HEAT, *(f"{name}/gpu/0" for name in names[:6]), by=15.0)
    quiet.change(HEAT, *(f"{name}/gpu/0" for name in names[8:]), times=NAN)
    assert ("rack/x", "cooling.rack_blocked") in quiet.candidates(RACK), "six of eight"


SMALL = change(CDU, "cdu/c1", times=0.75)


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("a small loss that warms no one", SMALL, 2.5 - 2.5 - 4, 0.0),
        ("nobody measures its GPUs", of(SMALL, without(HEAT)), 2.5 - 2.5 - 4, 0.0),
        ("three tenths must show", of(change(CDU, "cdu/c1", by=-61.0), without(HEAT)), 2.5 - 2.5, 4.0),
        ("one degree is felt", of(SMALL, gpus(HEAT, nodes(1, 6), by=1.0)), 2.5 - 2.5, 4.0),
        ("less is not", of(SMALL, gpus(HEAT, nodes(1, 6), by=0.9)), 2.5 - 2.5 - 4, 0.0),
        ("some are hot: it is not asked for less", of(SMALL, hot(nodes(1, 1))), 2.5 - 2.5 + 2 / 6, 4.0),
        ("the load fell as much", of(SMALL, gpus(WATTS, nodes(1, 6), times=0.75), gpus(USE, nodes(1, 6), times=0.75)), 2.5 - 2.5 - 5, 0.0),
    ],
)  # fmt: skip
def test_a_unit_that_delivers_a_little_less(quiet: Any, why: str, make: Make, score: float, most: float) -> None:
    make(quiet)
    found = quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), most), why


def _returns(before: float, now: float) -> Make:
    return of(
        lambda world: world.add("cdu_return_celsius", {"cdu/c1": 32.0 + before}),
        change("cdu_return_celsius", by=now - before),
    )


@pytest.mark.parametrize(
    ("why", "make", "asked_for_less"),
    [
        ("half of the heat that half of the flow carries", _returns(10.0, 15.0), True),
        ("more heat than that", _returns(10.0, 15.2), False),
        ("two degrees tell", _returns(2.0, 2.0), True),
        ("less do not", _returns(1.9, 1.9), False),
        ("nobody reads it now", of(_returns(10.0, 10.0), change("cdu_return_celsius", times=NAN)), False),
    ],
)
def test_the_heat_that_a_unit_carries(quiet: Any, why: str, make: Make, asked_for_less: bool) -> None:
    of(HALF, change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5), make)(quiet)
    found = quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"]
    assert any("less heat" in words for words in found.doubts) is asked_for_less, why
    assert found.score == pytest.approx(START + 2.5 + 2 - (5 if asked_for_less else 0), abs=1e-3)


@pytest.mark.parametrize(
    ("why", "make", "most"),
    [
        ("a supply that is four degrees warmer", change(SUPPLY, "cdu/c2", by=4.0), 4.0),
        ("less, and nobody suffers", change(SUPPLY, "cdu/c2", by=3.9), 0.0),
        ("less, and three nodes slow down", of(change(SUPPLY, "cdu/c2", by=3.9), gpus(CLOCK, nodes(7, 9), times=0.9)), 4.0),
        ("nodes of the other unit do", of(change(SUPPLY, "cdu/c2", by=3.9), gpus(CLOCK, nodes(1, 3), times=0.9)), 0.0),
    ],
)  # fmt: skip
def test_what_a_supply_is_warmed_by_every_day(quiet: Any, why: str, make: Make, most: float) -> None:
    make(quiet)
    assert quiet.candidates(FLOW)["cdu/c2", "cooling.supply_warm"].most == most, why


@pytest.mark.parametrize(
    ("why", "make", "most"),
    [
        ("all supplies are four degrees warmer", change(SUPPLY, by=4.0), 4.0),
        ("less", change(SUPPLY, by=3.9), 0.0),
        ("less, but the nodes slow down", of(change(SUPPLY, by=3.9), gpus(CLOCK, nodes(1, 12), times=0.9)), 4.0),
        ("the middle one counts", of(change(SUPPLY, "cdu/c1", by=3.0), change(SUPPLY, "cdu/c2", by=5.0)), 4.0),
        ("and is less", of(change(SUPPLY, "cdu/c1", by=2.9), change(SUPPLY, "cdu/c2", by=5.0)), 0.0),
        ("all lose three tenths of their flow", change(CDU, by=-61.0), 4.0),
        ("less", change(CDU, by=-59.0), 0.0),
        ("less, and half of the nodes are hot", of(change(CDU, by=-59.0), hot(nodes(1, 6))), 4.0),
        ("less, and fewer are hot", of(change(CDU, by=-59.0), hot(nodes(1, 5))), 0.0),
        ("their load fell as much", of(change(CDU, by=-61.0), gpus(WATTS, nodes(1, 12), times=0.6)), 0.0),
        ("not as much", of(change(CDU, by=-61.0), gpus(WATTS, nodes(1, 12), times=0.9)), 4.0),
    ],
)  # fmt: skip
def test_what_all_units_of_a_hall_do_every_day(quiet: Any, why: str, make: Make, most: float) -> None:
    make(quiet)
    assert quiet.candidates(PLANT)["room/h1", "cooling.plant"].most == most, why


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("six degrees, and no node works elsewhere", gpus(HEAT, nodes(1, 6), by=6.0), True),
        ("less", gpus(HEAT, nodes(1, 6), by=5.9), False),
        ("the middle one counts", of(gpus(HEAT, nodes(1, 3), by=5.0), gpus(HEAT, nodes(4, 6), by=7.0)), True),
        ("and is less", of(gpus(HEAT, nodes(1, 3), by=4.9), gpus(HEAT, nodes(4, 6), by=7.0)), False),
    ],
)
def test_all_that_works_is_hotter_than_weather_makes_it(quiet: Any, why: str, make: Make, found: bool) -> None:
    of(without(CDU), without(SUPPLY), gpus(USE, nodes(7, 12), times=0.1), make)(quiet)
    assert (("cdu/c1", "cooling.unmetered") in quiet.candidates(UNMETERED)) is found, why


def test_nodes_that_work_and_are_not_seen_are_not_counted_among_the_hot(quiet: Any) -> None:
    """Three of six nodes have no thermometer: the other three are all of which anything is known."""
    quiet.link(Edge("cools", "rack/r2", "node/n3"))
    of(without(CDU), without(SUPPLY), hot(nodes(1, 4)), gpus(HEAT, nodes(5, 6), times=NAN, at=0))(quiet)
    assert ("cdu/c1", "cooling.unmetered") in quiet.candidates(UNMETERED)


def test_a_hot_node_alone_is_no_unit(quiet: Any) -> None:
    of(without(CDU), without(SUPPLY), without(ROOM), hot(nodes(4, 4)))(quiet)
    assert quiet.candidates(UNMETERED) == {}


def test_two_racks_that_cool_one_hot_node_are_no_unit(quiet: Any) -> None:
    quiet.link(Edge("powers", "rack/r1", "node/n4"))
    of(without(CDU), without(SUPPLY), without(ROOM), gpus(USE, nodes(1, 3), times=0.0), hot(nodes(4, 6)))(quiet)
    assert quiet.candidates(UNMETERED) == {}


@pytest.mark.parametrize(
    ("why", "make", "most", "score"),
    [
        ("a room five degrees warmer, felt by a third of the nodes and more", of(change(ROOM, by=5.0), hot(nodes(1, 5))), 4.0, 2.5 - 2.5 + 2 * 5 / 12),
        ("by fewer", of(change(ROOM, by=5.0), hot(nodes(1, 4))), 0.0, 2.5 - 2.5 + 2 * 4 / 12),
        ("eight degrees need not be felt to be a cause", change(ROOM, by=8.0), 4.0, 2.5 - 2.5 - 2.5),
        ("less than eight must be", change(ROOM, by=7.9), 0.0, 2.5 - 2.5),
    ],
)  # fmt: skip
def test_whether_a_warm_room_is_felt(quiet: Any, why: str, make: Make, most: float, score: float) -> None:
    make(quiet)
    found = quiet.candidates(AMBIENT)["room/h1", "cooling.ambient"]
    assert (found.most, found.score) == (most, pytest.approx(START + score, abs=1e-3)), why


@pytest.mark.parametrize(("meters", "most", "proven"), [(1, 0.0, False), (2, 4.0, True)])
def test_a_pump_that_hunts_is_seen_by_two_meters(quiet: Any, meters: int, most: float, proven: bool) -> None:
    for signal in (CDU, "cdu_pump_speed_ratio")[:meters]:
        quiet.tables[signal].values[0, 228:240] *= np.resize([1.3, 1.3, 0.7, 0.7], 12)
    (found,) = quiet.candidates(PUMP).values()
    assert (found.most, found.proven, found.cause) == (most, proven, "cdu/c1")


@pytest.mark.parametrize(("back", "found"), [(60, True), (61, False)])
def test_a_pump_turned_three_times_within_ten_minutes(quiet: Any, back: int, found: bool) -> None:
    """Two turns in the last minutes, and one more before."""
    row = quiet.tables[CDU].values[0]
    row[240 - back] = 240.0
    row[228:232] = 160.0
    row[232:236] = 240.0
    row[236:240] = 160.0
    assert bool(quiet.candidates(PUMP)) is found


@pytest.mark.parametrize(("swing", "found"), [(0.051, True), (0.049, False)])
def test_a_pump_swings_by_a_twentieth(quiet: Any, swing: float, found: bool) -> None:
    row = quiet.tables[CDU].values[0]
    row[228:240] *= 1 + swing * np.resize([1.0, 1.0, -1.0, -1.0], 12)
    assert bool(quiet.candidates(PUMP)) is found


@pytest.mark.parametrize(("swing", "found"), [(15.0, True), (14.6, False)])
def test_a_pump_swings_by_five_times_its_noise(quiet: Any, swing: float, found: bool) -> None:
    """Two litres to either side are a noise of 2.97: five times that is 14.8."""
    row = quiet.tables[CDU].values[0]
    row[:228] = 200.0 + 2.0 * np.resize([1.0, -1.0, 0.0], 228)
    row[228:240] = 200.0 + swing * np.resize([1.0, 1.0, -1.0, -1.0], 12)
    assert bool(quiet.candidates(PUMP)) is found


@pytest.mark.parametrize(("swing", "found"), [(0.041, True), (0.039, False)])
def test_a_pump_speed_swings_by_half_of_what_is_worth_a_word(quiet: Any, swing: float, found: bool) -> None:
    quiet.tables["cdu_pump_speed_ratio"].values[0, 228:240] += swing * np.resize([1.0, 1.0, -1.0, -1.0], 12)
    assert bool(quiet.candidates(PUMP)) is found


@pytest.mark.parametrize(("swing", "found"), [(31.0, True), (29.0, False)])
def test_a_coarse_meter_swings_by_more_than_its_steps(quiet: Any, swing: float, found: bool) -> None:
    """Steps of 20 l/min: one and a half of them."""
    row = quiet.tables[CDU].values[0]
    row[100:120] = 200.0 + 20.0 * (np.arange(20) // 2 % 2)
    row[228:240] = 200.0 + swing * np.resize([1.0, 1.0, -1.0, -1.0], 12)
    assert bool(quiet.candidates(PUMP)) is found


def test_a_distrusted_meter_tells_of_no_pump(quiet: Any) -> None:
    quiet.tables[CDU].values[0, 228:240] *= np.resize([1.3, 1.3, 0.7, 0.7], 12)
    scene = quiet.scene
    scene.distrust(CDU, "cdu/c1")
    assert list(PUMP.explain(scene)) == []


def test_racks_of_a_unit_that_two_units_share_are_beside_each_other(quiet: Any) -> None:
    linked(Edge("cools", "cdu/c2", "rack/r2"), Edge("feeds", "cdu/c1", "rack/r4"))(quiet)
    change(RACK_FLOW, "rack/r2", times=0.5)(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert any("in 3 of 3 neighbouring racks" in words for words in found.reasons)
