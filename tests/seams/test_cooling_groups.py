"""Cooling of several at once: units behind one plant, exactly what a unit cools, fans that all misread."""

from typing import Any

import pytest

from holdfast.model.topology import Edge, Topology
from holdfast.seams.rules.cooling_fan import SEAM as FAN
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_plant import SEAM as PLANT
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.cooling_unmetered import SEAM as UNMETERED
from tests.seams.making import START, Make, change, gpus, hot, linked, nodes, of, without

CDU, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
SUPPLY, INLET, ROOM = "cdu_supply_celsius", "rack_inlet_celsius", "ambient_celsius"
HEAT, WATTS, USE, SPEED = "gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio", "fan_speed_ratio"


def _units(world: Any, count: int) -> list[str]:
    units = [f"cdu/u{number}" for number in range(count)]
    world.add(SUPPLY, dict.fromkeys(units, 32.0))
    world.add(CDU, dict.fromkeys(units, 200.0))
    world.link(*(Edge("cools", "loop/p", unit) for unit in units))
    return units


@pytest.mark.parametrize(
    ("count", "moved", "found"),
    [(5, 4, True), (5, 3, False), (2, 2, True), (1, 1, False), (10, 8, True), (10, 7, False)],
)
@pytest.mark.parametrize(("signal", "how"), [(SUPPLY, {"by": 4.0}), (CDU, {"times": 0.5})])
def test_nearly_all_units_behind_a_plant(
    quiet: Any, count: int, moved: int, found: bool, signal: str, how: dict[str, float]
) -> None:
    units = _units(quiet, count)
    quiet.change(signal, *units[:moved], **how)
    plants = quiet.candidates(PLANT)
    assert list(plants) == ([("loop/p", "cooling.plant")] if found else [])
    for one in plants.values():
        assert (one.score, [sign.subject for sign in sorted(one.signs)]) == (START + 4, units[:moved])
        assert ("supply warmer" in one.reasons[0]) is (signal == SUPPLY)


def test_a_unit_that_no_one_sees_is_not_counted(quiet: Any) -> None:
    units = _units(quiet, 5)
    quiet.change(SUPPLY, *units[:3], by=4.0)
    quiet.tables[SUPPLY].values[3:] = float("nan")
    assert list(quiet.candidates(PLANT)) == [("loop/p", "cooling.plant")]


@pytest.mark.parametrize(("late", "found"), [(190, True), (191, False)])
def test_units_of_a_plant_move_within_a_quarter_of_an_hour(quiet: Any, late: int, found: bool) -> None:
    quiet.change(SUPPLY, "cdu/c1", by=4.0, at=100)
    quiet.change(SUPPLY, "cdu/c2", by=4.0, at=late)
    assert bool(quiet.candidates(PLANT)) is found


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("no room is warmer", of(), 4),
        ("all nodes are hot", hot(nodes(1, 12)), 4 + 2),
        ("a quarter of them is", hot(nodes(1, 3)), 4 + 0.5),
        ("the room warmed as much", change(ROOM, by=5.0), 4 - 5),
        ("the room warmed less than one of them", change(ROOM, by=4.5), 4),
    ],
)
def test_how_sure_a_bad_plant_is(quiet: Any, why: str, make: Make, score: float) -> None:
    of(change(SUPPLY, "cdu/c1", by=4.0), change(SUPPLY, "cdu/c2", by=5.0), make)(quiet)
    found = quiet.candidates(PLANT)["room/h1", "cooling.plant"].score
    assert found == pytest.approx(START + score, abs=1e-3), why


def test_what_all_units_do_is_not_one_units_doing(quiet: Any) -> None:
    change(SUPPLY, by=4.0)(quiet)
    assert quiet.candidates(FLOW)["cdu/c1", "cooling.supply_warm"].score == START + 2 - 2.5 - 3
    change(CDU, times=0.8)(quiet)
    found = quiet.candidates(FLOW)
    assert found["cdu/c1", "cooling.supply_warm"].score == START + 2 - 2.5 - 1.5 - 3
    assert found["cdu/c1", "cooling.flow_low"].score == START + 2.5 - 2.5 - 4, "the plant is named for its supply"
    change(SUPPLY, by=-4.0)(quiet)
    assert quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].score == START + 2.5 - 2.5 - 4 - 3


UNREAD = of(without(CDU), without(SUPPLY))
NINE = linked(Edge("cools", "cdu/c1", "rack/r3"))
IDLE_REST = gpus(USE, nodes(7, 12), times=0.1)
ONE_UNIT = of(lambda world: world.unlink("room/h1", "cdu/c2"), hot(nodes(1, 6)))


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("all of its nodes, and no other", of(UNREAD, hot(nodes(1, 6))), {"cdu/c1": 2 + 2}),
        ("five of six", of(UNREAD, hot(nodes(1, 5))), {"cdu/c1": 2 + 2 * 5 / 6}),
        ("four of six", of(UNREAD, hot(nodes(1, 4))), {}),
        ("four of five that work", of(UNREAD, hot(nodes(1, 4)), gpus(USE, nodes(6, 6), times=0.1)), {"cdu/c1": 2 + 2 * 4 / 5}),
        ("one elsewhere", of(UNREAD, hot(nodes(1, 7))), {}),
        ("one in ten elsewhere", of(UNREAD, NINE, hot(nodes(1, 10))), {"cdu/c1": 2 + 2}),
        ("one in nine elsewhere", of(UNREAD, NINE, hot(nodes(2, 10))), {}),
        ("one rack is no unit", of(UNREAD, lambda world: world.unlink("cdu/c1", "rack/r2"), hot(nodes(1, 3))), {}),
        ("everything is hot", of(UNREAD, hot(nodes(1, 12))), {}),
        ("no node works elsewhere", of(UNREAD, hot(nodes(1, 6)), IDLE_REST), {"cdu/c1": 2 + 2}),
        ("no node works elsewhere, a warm day", of(UNREAD, gpus(HEAT, nodes(1, 6), by=5.5, at=156), IDLE_REST), {}),
        ("its flow is read", of(without(SUPPLY), hot(nodes(1, 6))), {}),
        ("its temperature is read", of(without(CDU), hot(nodes(1, 6))), {}),
        ("the room whose meter is gone", of(without(ROOM), ONE_UNIT), {"room/h1": 2 + 2}),
        ("the room is read", ONE_UNIT, {}),
        ("the smaller of both", of(UNREAD, without(ROOM), ONE_UNIT), {"cdu/c1": 2 + 2}),
    ],
)  # fmt: skip
def test_exactly_what_it_cools_is_hot(quiet: Any, why: str, make: Make, found: dict[str, float]) -> None:
    make(quiet)
    candidates = quiet.candidates(UNMETERED)
    assert {cause: one.score for (cause, _), one in candidates.items()} == {
        cause: pytest.approx(START + score, abs=1e-3) for cause, score in found.items()
    }, why
    assert all((one.most, one.since, one.proven) == (1.6, 1560.0, False) for one in candidates.values())
    assert all(len(one.unknown) == 1 + why.startswith("no node works elsewhere") for one in candidates.values())


def test_what_no_one_meters_began_with_its_first_hot_node(quiet: Any) -> None:
    of(UNREAD, hot(nodes(1, 3), at=160), hot(nodes(4, 6), at=170))(quiet)
    assert quiet.candidates(UNMETERED)["cdu/c1", "cooling.unmetered"].since == 1600.0


def _stop(*numbers: int, at: int = 150, times: float = 0.0) -> Make:
    return change(SPEED, *(f"node/n{number}" for number in numbers), times=times, at=at)


@pytest.mark.parametrize(
    ("why", "make", "misread"),
    [
        ("three of a rack", _stop(4, 5, 6), "rack/r2"),
        ("of two racks of a unit", _stop(1, 4, 6), "cdu/c1"),
        ("of two units", _stop(1, 4, 8), "room/h1"),
        ("of nothing in common", of(_stop(5, 4, 8), lambda world: setattr(world, "topology", Topology(()))), "node/n4"),
        ("two may fail", _stop(4, 5), None),
        ("nearly stopped", _stop(4, 5, 6, times=0.018), "rack/r2"),
        ("they turn", _stop(4, 5, 6, times=0.019), None),
        ("one of the three is hot by chance", of(_stop(4, 5, 6), hot(nodes(4, 4))), "rack/r2"),
        ("two of the three are hot", of(_stop(4, 5, 6), hot(nodes(4, 5))), None),
        ("others are hot", of(_stop(4, 5, 6), hot(nodes(7, 7))), "rack/r2"),
        ("within two minutes", of(_stop(4, 5), _stop(6, at=162)), "rack/r2"),
        ("one after the other", of(_stop(4, 5), _stop(6, at=163)), None),
    ],
)
def test_fans_that_stop_together_and_warm_no_one_misread(quiet: Any, why: str, make: Make, misread: str | None) -> None:
    make(quiet)
    found = quiet.candidates(FAN)
    assert [cause for cause, kind in found if kind == "sensor.absurd"] == ([misread] if misread else []), why
    assert (("node/n4", "cooling.fan") in found) is (misread is None), why
    if misread:
        one = found[misread, "sensor.absurd"]
        assert (one.score, one.proven, len(one.signs), len(one.unknown)) == (START + 3, True, 3, 1)


@pytest.mark.parametrize(
    ("at", "make", "most"), [(209, of(), 4.0), (210, of(), 0.0), (210, hot(nodes(4, 4), at=212), 4.0)]
)
def test_a_fan_that_fails_warms_its_gpus_within_minutes(quiet: Any, at: int, make: Make, most: float) -> None:
    of(_stop(4, at=at, times=0.6), make)(quiet)
    assert quiet.candidates(FAN)["node/n4", "cooling.fan"].most == most


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("three tenths of its own rise", gpus(HEAT, nodes(1, 3), by=1.85), 2 - 3),
        ("less", gpus(HEAT, nodes(1, 3), by=1.75), 2 + 1),
        ("two of three nodes", gpus(HEAT, nodes(1, 2), by=1.85), 2 - 3),
        ("one of three", gpus(HEAT, nodes(1, 1), by=1.85), 2 + 1),
        ("those that work", of(gpus(HEAT, nodes(1, 1), by=1.85), gpus(USE, nodes(2, 3), times=0.1)), 2 - 3),
        ("a rack of another unit", gpus(HEAT, nodes(7, 9), by=1.85), 2 + 1),
    ],
)
def test_a_rack_beside_it_that_starts_to_warm_speaks_against_it(quiet: Any, why: str, make: Make, score: float) -> None:
    of(without(RACK_FLOW), gpus(HEAT, nodes(4, 6), by=6.0), make)(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert found.score == pytest.approx(START + score, abs=1e-3), why


HALF = of(change(CDU, "cdu/c1", times=0.5), change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5))


@pytest.mark.parametrize(
    ("why", "make", "less"),
    [
        ("half as much less power", gpus(WATTS, nodes(1, 6), times=0.74), True),
        ("not half", gpus(WATTS, nodes(1, 6), times=0.76), False),
        ("power of others", gpus(WATTS, nodes(7, 12), times=0.3), False),
        ("power is as ever, whatever the work", gpus(USE, nodes(1, 6), times=0.7), False),
        ("no power is read: half as much less work", of(without(WATTS), gpus(USE, nodes(1, 6), times=0.74)), True),
        ("no power is read: not half", of(without(WATTS), gpus(USE, nodes(1, 6), times=0.76)), False),
        ("neither is read", of(without(WATTS), without(USE)), False),
    ],
)
def test_a_unit_gives_less_where_less_is_asked(quiet: Any, why: str, make: Make, less: bool) -> None:
    of(HALF, make)(quiet)
    found = quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].score
    assert found == pytest.approx(START + 2.5 + 2 - (5 if less else 0), abs=1e-3), why
