"""What speaks for and against each cause in the cooling, and how much: every row is one step beside a limit."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.cooling_ambient import SEAM as AMBIENT
from holdfast.seams.rules.cooling_fan import SEAM as FAN
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_pump import SEAM as PUMP
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.cooling_rack import _falling
from tests.seams.making import START, Make, change, gpus, hot, linked, nodes, of, without

CDU, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
PRESSURE, SUPPLY, INLET = "cdu_differential_pressure_pascals", "cdu_supply_celsius", "rack_inlet_celsius"
HEAT, WATTS, USE, SPEED = "gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio", "fan_speed_ratio"
ROOM, AIR = "ambient_celsius", "node_inlet_celsius"

RETURN = "cdu_return_celsius"


def returns(degrees: float) -> Make:
    """Return meters that are so much warmer than the supply."""
    return lambda world: world.add(RETURN, {"cdu/c1": 32.0 + degrees, "cdu/c2": 32.0 + degrees})


HALF = change(CDU, "cdu/c1", times=0.5)
BOTH = change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5)
FELL, TOO, STILL, WELL = 2.5, 2.0, -2.5, -2.5


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its racks lose flow with it", of(HALF, BOTH), FELL + TOO),
        ("pressure rose: something is shut", of(HALF, BOTH, change(PRESSURE, "cdu/c1", times=1.11)), FELL + TOO - 3),
        ("pressure rose too little to say", of(HALF, BOTH, change(PRESSURE, "cdu/c1", times=1.09)), FELL + TOO),
        ("pressure fell with it", of(HALF, BOTH, change(PRESSURE, "cdu/c1", times=0.89)), FELL + TOO + 0.5),
        ("a small loss that warms no GPU is asked for", change(CDU, "cdu/c1", times=0.71), FELL + STILL - 4),
        ("a small loss that warms GPUs", of(change(CDU, "cdu/c1", times=0.71), gpus(HEAT, nodes(1, 6), by=1.2)), FELL + STILL),
        ("their power explains the warmth", of(change(CDU, "cdu/c1", times=0.71), gpus(HEAT, nodes(1, 6), by=1.2), gpus(WATTS, nodes(1, 6), times=1.07)), FELL + STILL - 4),
        ("its return is as ever: less heat is made", of(HALF, BOTH, returns(10.0)), FELL + TOO - 5),
        ("its return is as much warmer as it flows less", of(HALF, BOTH, returns(10.0), change(RETURN, "cdu/c1", by=10.0)), FELL + TOO),
        ("two degrees are too few to tell", of(HALF, BOTH, returns(1.9)), FELL + TOO),
        ("a third must show", change(CDU, "cdu/c1", by=-60.0), FELL + STILL + WELL),
        ("one rack of two is not most", of(HALF, change(RACK_FLOW, "rack/r1", times=0.5)), FELL + STILL + WELL),
        ("two nodes of six are hot", of(HALF, hot(nodes(1, 2))), FELL + STILL + 2 * 2 / 6 + WELL * 4 / 6),
        ("half of the nodes are hot", of(HALF, hot(nodes(1, 3))), FELL + STILL + 1),
        ("hot for far longer than that", of(HALF, hot(nodes(1, 6), at=137)), FELL + STILL),
        ("hot a moment before", of(HALF, hot(nodes(1, 6), at=138)), FELL + STILL + 2),
        ("metal has inertia", change(CDU, "cdu/c1", times=0.5, at=210), FELL + STILL),
        ("until it had five minutes", change(CDU, "cdu/c1", times=0.5, at=209), FELL + STILL + WELL),
        ("who draws less stays cool", of(HALF, gpus(WATTS, nodes(1, 4), times=0.9)), FELL + STILL + WELL * 2 / 6),
        ("a little less is no less", of(HALF, gpus(WATTS, nodes(1, 4), times=0.93)), FELL + STILL + WELL),
        ("who idles needs less", of(HALF, gpus(USE, nodes(1, 6), times=0.3), gpus(WATTS, nodes(1, 6), times=0.3)), FELL + STILL - 5.0),
        ("a third of the work is work", of(HALF, gpus(USE, nodes(1, 6), times=0.42)), FELL + STILL + WELL),
        ("somewhat warmer is not well", of(HALF, gpus(HEAT, nodes(1, 6), by=1.5)), FELL + STILL),
        ("a degree is nothing", of(HALF, gpus(HEAT, nodes(1, 6), by=1.4)), FELL + STILL + WELL),
        ("it was warm until it rested", of(HALF, gpus(HEAT, nodes(1, 6), by=2, at=150), gpus(HEAT, nodes(1, 6), by=-2, at=225)), FELL + STILL),
        ("nobody measures its racks", of(HALF, without(RACK_FLOW)), FELL + WELL),
        ("nobody measures its GPUs", of(HALF, without(HEAT)), FELL + STILL),
    ],
)  # fmt: skip
def test_how_sure_a_loss_of_flow_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    assert quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].score == pytest.approx(START + score, abs=1e-3), why


WARM = change(SUPPLY, "cdu/c2", by=4.9)
INLETS = change(INLET, "rack/r3", "rack/r4", by=4.9)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("its racks get it warmer", of(WARM, INLETS), 2 + 2),
        ("five degrees must show in the GPUs", of(change(SUPPLY, "cdu/c2", by=5.0), INLETS), 2 + 2 - 2.5),
        ("the room warmed as much: it follows", of(WARM, INLETS, change(ROOM, by=5.0)), 4 - 5),
        ("the room warmed less", of(WARM, INLETS, change(ROOM, by=4.8)), 4 - 1),
        ("it loses flow", of(WARM, INLETS, change(CDU, "cdu/c2", times=0.9)), 4 - 1.5),
        ("another unit loses flow", of(WARM, INLETS, change(CDU, "cdu/c1", times=0.9)), 4),
        ("no rack gets it", WARM, 2 - 2.5),
    ],
)
def test_how_sure_a_warm_supply_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    found = quiet.candidates(FLOW)["cdu/c2", "cooling.supply_warm"].score
    assert found == pytest.approx(START + score, abs=1e-3), why


LESS = change(RACK_FLOW, "rack/r2", times=0.66)
WARMER = gpus(HEAT, nodes(4, 6), by=1.2)
BLOCKED = of(LESS, WARMER)
ALONE = 1.0
THREE_RACKS = linked(Edge("cools", "cdu/c1", "rack/r3"))


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("the rack beside it is well", BLOCKED, FELL + ALONE),
        ("a small loss that warms no GPU is a valve's", LESS, FELL + ALONE - 4),
        ("nobody measures its GPUs", of(LESS, without(HEAT)), FELL + ALONE),
        ("so much must show", change(RACK_FLOW, "rack/r2", by=-35.0), FELL + ALONE + WELL),
        ("the one beside it lost as much", of(BLOCKED, change(RACK_FLOW, "rack/r1", times=0.66)), FELL - 3),
        ("the one beside it begins to", of(WARMER, change(RACK_FLOW, "rack/r2", times=0.92), change(RACK_FLOW, "rack/r1", times=0.959)), FELL - 3),
        ("not half as much", of(WARMER, change(RACK_FLOW, "rack/r2", times=0.92), change(RACK_FLOW, "rack/r1", times=0.962)), FELL + ALONE),
        ("one of two beside it did", of(THREE_RACKS, BLOCKED, change(RACK_FLOW, "rack/r1", times=0.66)), FELL - 3),
        ("another unit's rack is no sister", of(BLOCKED, change(RACK_FLOW, "rack/r3", times=0.5)), FELL + ALONE),
        ("its unit pushes less", of(BLOCKED, change(PRESSURE, "cdu/c1", times=0.8)), FELL + ALONE - 3),
        ("its unit pushes against it", of(BLOCKED, change(PRESSURE, "cdu/c1", times=1.2)), FELL + ALONE + 1),
        ("the other unit does", of(BLOCKED, change(PRESSURE, "cdu/c2", times=1.2)), FELL + ALONE),
        ("one of its three nodes is hot", of(BLOCKED, hot(nodes(4, 4))), FELL + ALONE + 2 / 3),
    ],
)  # fmt: skip
def test_how_sure_a_blocked_rack_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"].score
    assert found == pytest.approx(START + score, abs=1e-3), why


UNMEASURED = without(RACK_FLOW)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("all of its nodes are hot, no rack beside it", hot(nodes(4, 6)), 2 + 1),
        ("the rack beside it is hot too", hot(nodes(1, 6)), 2 - 3),
        ("two of three are not most", hot(nodes(4, 5)), None),
        ("two of two that work are", of(hot(nodes(4, 5)), gpus(USE, nodes(6, 6), times=0.1)), 2 + 1),
        ("one node is no rack", of(hot(nodes(4, 4)), gpus(USE, nodes(5, 6), times=0.1)), None),
        ("a fan fails in it", of(hot(nodes(4, 6)), change(SPEED, "node/n5", times=0.5)), 2 + 1 - 3),
        ("a fan fails elsewhere", of(hot(nodes(4, 6)), change(SPEED, "node/n9", times=0.5)), 2 + 1),
    ],
)
def test_how_sure_a_rack_is_whose_flow_no_one_measures(quiet: Any, why: str, make: Make, score: float | None) -> None:
    UNMEASURED(quiet)
    make(quiet)
    found = quiet.candidates(RACK).get(("rack/r2", "cooling.rack_blocked"))
    if score is None:
        assert found is None, why
    else:
        assert found is not None, why
        assert (found.score, found.most, found.since) == (pytest.approx(START + score, abs=1e-3), 1.2, 1560.0), why


SLOWER = change(SPEED, "node/n4", times=0.6)


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("the coolant of its rack is as ever", SLOWER, 2 + 1),
        ("not quite half", change(SPEED, "node/n4", times=0.51), 2 + 1),
        ("its GPUs are hot", of(SLOWER, hot(nodes(4, 4))), 2 + 2 + 1),
        ("its rack lost flow", of(SLOWER, change(RACK_FLOW, "rack/r2", times=0.5)), 2 - 2),
        ("half of its speed is gone, and that of another node", change(SPEED, "node/n4", "node/n9", times=0.5), 3 - 2.5 + 1),
        ("another rack lost flow", of(SLOWER, change(RACK_FLOW, "rack/r3", times=0.5)), 2 + 1),
        ("nobody measures the flow", of(SLOWER, UNMEASURED), 2),
        ("its GPUs are cooler", of(SLOWER, gpus(HEAT, nodes(4, 4), by=-3.0)), 2 - 3 + 1),
        ("its GPUs are cooler since most of the window", of(SLOWER, gpus(HEAT, nodes(4, 4), by=-3.0, at=100)), 2 - 3 + 1),
        ("a little cooler", of(SLOWER, gpus(HEAT, nodes(4, 4), by=-2.9)), 2 + 1),
        ("it alone has nothing to do", of(SLOWER, gpus(USE, nodes(4, 4), times=0.1)), 2 - 3 + 1),
        ("others idle too, and their fans turn", of(SLOWER, gpus(USE, nodes(4, 7), times=0.1)), 2 + 1),
        ("others idle too, and one of three rests", of(SLOWER, gpus(USE, nodes(4, 7), times=0.1), change(SPEED, "node/n5", times=0.6)), 2 - 3 + 1),
        ("others draw less too, and their fans rest", of(SLOWER, gpus(WATTS, nodes(4, 5), times=0.5), change(SPEED, "node/n5", times=0.6)), 2 - 3 + 1),
        ("others draw less too, and their fans turn", of(SLOWER, gpus(WATTS, nodes(4, 7), times=0.5)), 2 + 1),
    ],
)  # fmt: skip
def test_how_sure_a_failing_fan_is(quiet: Any, why: str, make: Make, score: float) -> None:
    make(quiet)
    found = quiet.candidates(FAN)["node/n4", "cooling.fan"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), 4.0), why


HALF_SPEED = change(SPEED, "node/n4", times=0.5)


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("no other fan is slower, and its GPUs are as cool as before", HALF_SPEED, 3 + 1, 1.0),
        (
            "its rack lost flow, but the fan is broken",
            of(HALF_SPEED, change(RACK_FLOW, "rack/r2", times=0.5)),
            3 - 0.5,
            1.0,
        ),
        ("its GPUs are hot", of(HALF_SPEED, hot(nodes(4, 4))), 3 + 2 + 1, 4.0),
        ("it has nothing to do", of(HALF_SPEED, gpus(USE, nodes(4, 4), times=0.1)), 3 - 3 + 1, 4.0),
    ],
)
def test_a_fan_that_slows_down_alone_is_broken_though_its_gpus_stay_cool(
    quiet: Any, why: str, make: Make, score: float, most: float
) -> None:
    make(quiet)
    found = quiet.candidates(FAN)["node/n4", "cooling.fan"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), most), why


@pytest.mark.parametrize(
    ("why", "make", "score"),
    [
        ("hot alone in its rack", hot(nodes(4, 4)), 2 + 1),
        ("its rack lost flow", of(hot(nodes(4, 4)), change(RACK_FLOW, "rack/r2", times=0.5)), 2 - 2),
        ("one of two beside it is hot: the rack's affair", hot(nodes(4, 5)), None),
        ("who idles beside it does not count", of(hot(nodes(4, 5)), gpus(USE, nodes(5, 5), times=0.1)), 2 + 1),
    ],
)
def test_how_sure_a_fan_is_that_no_one_measures(quiet: Any, why: str, make: Make, score: float | None) -> None:
    without(SPEED)(quiet)
    make(quiet)
    found = quiet.candidates(FAN).get(("node/n4", "cooling.fan"))
    if score is None:
        assert found is None, why
    else:
        assert found is not None, why
        assert (found.score, found.most, found.since) == (pytest.approx(START + score, abs=1e-3), 1.0, 1560.0), why


@pytest.mark.parametrize(
    ("why", "make", "score", "most"),
    [
        ("a hot day that nobody feels", of(change(ROOM, by=7.9), change(AIR, by=7.9)), 2.5 + 2, 0.0),
        ("a hot day that half of the nodes feel", of(change(ROOM, by=5.0), change(AIR, by=5.0), hot(nodes(1, 6))), 2.5 + 2 + 1, 4.0),
        ("a hot day that a third of the nodes feel", of(change(ROOM, by=5.0), change(AIR, by=5.0), hot(nodes(1, 4))), 2.5 + 2 + 2 / 3, 0.0),
        ("a warm day", of(change(ROOM, by=4.9), change(AIR, by=4.9)), 2.5 + 2, 0.0),
        ("a warm day that half of the nodes feel", of(change(ROOM, by=3.9), change(AIR, by=3.9), hot(nodes(1, 6))), 2.5 + 2 + 1, 0.0),
        ("a warm day that slows three nodes", of(change(ROOM, by=3.9), change(AIR, by=3.9), hot(nodes(1, 6)), gpus("gpu_clock_sm_hertz", nodes(1, 3), times=0.9)), 2.5 + 2 + 1, 4.0),
        ("no air is warmer", change(ROOM, by=5.0), 2.5 - 2.5, 0.0),
        ("eight degrees must show", of(change(ROOM, by=8.0), change(AIR, by=8.0)), 2.5 + 2 - 2.5, 4.0),
        ("where no air is measured, the units tell", of(change(ROOM, by=5.0), without(AIR), change(SUPPLY, by=3.0)), 2.5 + 2, 0.0),
        ("the units do not follow", of(change(ROOM, by=5.0), without(AIR)), 2.5 - 2.5, 0.0),
    ],
)  # fmt: skip
def test_how_sure_a_warm_room_is(quiet: Any, why: str, make: Make, score: float, most: float) -> None:
    make(quiet)
    found = quiet.candidates(AMBIENT)["room/h1", "cooling.ambient"]
    assert (found.score, found.most) == (pytest.approx(START + score, abs=1e-3), most), why


def _swing(world: Any, signal: str, high: float, low: float, columns: int = 2, at: int = 236, turns: int = 3) -> None:
    """Some columns above what is usual, as many below, the last of them at `at`; so many turns in all."""
    row = world.tables[signal].values[0]
    for turn in range(turns + 1):
        begin = at - columns * turn
        row[begin : begin + columns] *= high if turn % 2 else low


@pytest.mark.parametrize(
    ("why", "high", "low", "columns", "at", "found"),
    [
        ("to both sides, far enough", 1.06, 0.94, 2, 236, True),
        ("too little above", 1.04, 0.94, 2, 236, False),
        ("too little below", 1.06, 0.96, 2, 236, False),
        ("five minutes ago", 1.06, 0.94, 2, 213, True),
        ("longer ago", 1.06, 0.94, 2, 211, False),
    ],
)
def test_a_pump_hunts_that_swings_to_both_sides_within_minutes(
    quiet: Any, why: str, high: float, low: float, columns: int, at: int, found: bool
) -> None:
    _swing(quiet, CDU, high, low, columns, at)
    swings = quiet.candidates(PUMP)
    assert (("cdu/c1", "cooling.pump_oscillation") in swings) is found, why
    if found:
        (one,) = swings.values()
        assert one.score == START + 2.5
        assert not one.proven
        (sign,) = one.signs
        assert (sign.since, sign.before, sign.now) == (
            10.0 * (at - 3 * columns),
            pytest.approx(188.0),
            pytest.approx(212.0),
        )


@pytest.mark.parametrize(("turns", "found"), [(1, False), (2, False), (3, True)])
def test_a_load_that_rises_and_falls_is_no_pump_that_hunts(quiet: Any, turns: int, found: bool) -> None:
    _swing(quiet, CDU, 1.2, 0.8, columns=4, turns=turns)
    assert bool(quiet.candidates(PUMP)) is found


def test_two_instruments_of_a_pump_that_swing_prove_it(quiet: Any) -> None:
    _swing(quiet, CDU, 1.2, 0.8)
    _swing(quiet, PRESSURE, 1.2, 0.8)
    (one,) = quiet.candidates(PUMP).values()
    assert one.proven
    assert one.score == START + 2 * 2.5


@pytest.mark.parametrize(("noise", "found"), [(0.009, True), (0.018, False)])
def test_a_pump_that_always_swings_does_not_hunt(quiet: Any, noise: float, found: bool) -> None:
    """Five times what it does from column to column."""
    row = quiet.tables[CDU].values[0]
    row[:] *= 1 + noise * np.resize([1.0, -1.0], row.shape)
    _swing(quiet, CDU, 1.1, 0.9)
    assert bool(quiet.candidates(PUMP)) is found


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("six degrees, alone", gpus(HEAT, nodes(4, 4), by=6.0), True),
        ("four degrees are the weather's", gpus(HEAT, nodes(4, 4), by=4.0), False),
        ("the others are half as much warmer", of(gpus(HEAT, nodes(1, 12), by=2.8), gpus(HEAT, nodes(4, 4), by=2.6)), False),
    ],
)  # fmt: skip
def test_a_fan_that_is_not_measured_warms_its_node_by_much_and_alone(
    quiet: Any, why: str, make: Make, found: bool
) -> None:
    of(without(SPEED), make)(quiet)
    assert (quiet.candidates(FAN)["node/n4", "cooling.fan"].score > 0) is found, why


@pytest.mark.parametrize(("rests", "most"), [(True, 0.0), (False, 1.2)])
def test_a_rack_warms_where_its_unit_follows_a_load_that_fell(quiet: Any, rests: bool, most: float) -> None:
    """The flow of a unit is shared: whoever works on when others rest gets less of it."""
    of(without(RACK_FLOW), HALF, hot(nodes(4, 6)))(quiet)
    if rests:
        of(gpus(USE, nodes(1, 3), times=0.05), gpus(WATTS, nodes(1, 3), times=0.1))(quiet)
    assert quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"].most == most


@pytest.mark.parametrize(("usual", "now", "falling"), [(0.8, 0.59, True), (0.8, 0.61, False), (0.0, 0.0, False)])
def test_a_rack_with_little_flow_falls_by_its_share(quiet: Any, usual: float, now: float, falling: bool) -> None:
    quiet.add(RACK_FLOW, {"rack/r1": usual})
    quiet.tables[RACK_FLOW].values[0, 150:] = now
    assert _falling(quiet.scene, "rack/r1", 0.5) is falling
