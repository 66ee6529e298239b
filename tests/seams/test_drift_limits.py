"""Who wanders alone: how far beside its own kind, which witnesses could have shown it, and what agrees."""

from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Symptom
from holdfast.model.panel import SignalTable
from holdfast.model.topology import Edge, Topology
from holdfast.seams.moved import Moves
from holdfast.seams.rules.sensor_drift import (
    SEAM,
    WITNESSES,
    DriftChange,
    _beyond_peers,
    _change,
    _coarseness,
    _least,
    _no_peer_moved,
    _power_for,
    _unit,
)
from tests.seams.making import Make, change, gpus, measured, nodes, of, without

FLOW, RACK_FLOW, PRESSURE = (
    "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute", "cdu_differential_pressure_pascals",
)  # fmt: skip
SUPPLY, INLET, HEAT, WATTS = "cdu_supply_celsius", "rack_inlet_celsius", "gpu_temperature_celsius", "gpu_power_watts"
FAN, USE, AIR = "fan_speed_ratio", "gpu_utilization_ratio", "node_inlet_celsius"
NAN = float("nan")


def _moves(signal: str, center: list[float], recent: list[float], moved: list[int]) -> Moves:
    before, now = np.array(center, np.float32), np.array(recent, np.float32)
    rows = np.array(moved)
    seen = np.isfinite(before) & np.isfinite(now)
    names = tuple("abcdefghijklmnopqrstuvwxyz"[: len(center)])
    return Moves(
        signals()[signal]._replace(bad="either"), names, rows, before[rows], now[rows], np.zeros(len(rows)), seen,
        before, now,
    )  # fmt: skip


def _sign(signal: str, before: float, now: float, subject: str = "a") -> Symptom:
    return Symptom(subject, signal, 1500.0, before, now)


@pytest.mark.parametrize(
    ("why", "signal", "before", "now", "beyond"),
    [
        ("a flow moved by twice what is worth a word", FLOW, 200.0, 183.9, True),
        ("by less", FLOW, 200.0, 184.1, False),
        ("a supply by two degrees", SUPPLY, 30.0, 32.01, True),
        ("by less than two", SUPPLY, 30.0, 31.99, False),
        ("what has a limit of its own is not asked for twice", HEAT, 62.0, 65.0, True),
        ("from nothing", FLOW, 0.0, 1.0, True),
        ("nothing at all", FLOW, 0.0, 0.0, False),
    ],
)
def test_twice_what_is_worth_a_word(why: str, signal: str, before: float, now: float, beyond: bool) -> None:
    found = _moves(signal, [before], [now], [0])
    assert _beyond_peers(found)(_sign(signal, before, now)) is beyond, why


@pytest.mark.parametrize(
    ("why", "peers", "strays", "beyond"),
    [
        ("five peers that stray by a fortieth", 5, 0.025, False),
        ("by less than a fortieth", 5, 0.024, True),
        ("four are too few to tell", 4, 0.025, True),
    ],
)
def test_four_times_what_its_kind_strays_here(why: str, peers: int, strays: float, beyond: bool) -> None:
    """A tenth of 200 l/min. The middle one of those that did not move tells."""
    ends = [200.0 * (1 + strays * (-1) ** n) for n in range(peers)]
    found = _moves(FLOW, [200.0] * (1 + peers), [180.0001, *ends], [0])
    assert _beyond_peers(found)(_sign(FLOW, 200.0, 180.0001)) is beyond, why


def test_a_peer_that_nobody_sees_strays_nowhere() -> None:
    found = _moves(FLOW, [200.0] * 6, [180.0, *[210.0] * 4, NAN], [0])
    assert _beyond_peers(found)(_sign(FLOW, 200.0, 180.0))


@pytest.mark.parametrize(
    ("why", "others", "alone"),
    [
        ("nobody moved with it", [200.0] * 5, True),
        ("one moved by half as much", [190.0, *[200.0] * 4], False),
        ("by less than half", [190.1, *[200.0] * 4], True),
        ("the other way", [210.0, *[200.0] * 4], True),
        ("one of twenty", [180.0, *[200.0] * 19], True),
        ("two of twenty", [180.0, 180.0, *[200.0] * 18], False),
        ("one of ten", [180.0, *[200.0] * 9], False),
        ("who is not seen did not move", [NAN, *[200.0] * 4], True),
    ],
)
def test_what_a_tenth_of_its_kind_shows_is_not_its_own(why: str, others: list[float], alone: bool) -> None:
    found = _moves(FLOW, [200.0] * (1 + len(others)), [180.0, *others], [0])
    assert _no_peer_moved(found)(_sign(FLOW, 200.0, 180.0)) is alone, why


def test_degrees_that_nobody_sees_did_not_rise() -> None:
    assert _no_peer_moved(_moves(SUPPLY, [30.0, 30.0], [31.5, NAN], [0]))(_sign(SUPPLY, 30.0, 31.5))


def test_flows_are_compared_in_shares_and_degrees_as_they_are() -> None:
    flows = _moves(FLOW, [200.0, 20.0], [180.0, 18.0], [0])
    assert not _no_peer_moved(flows)(_sign(FLOW, 200.0, 180.0)), "a tenth each"
    degrees = _moves(SUPPLY, [30.0, 3.0], [40.0, 4.0], [0])
    assert _no_peer_moved(degrees)(_sign(SUPPLY, 30.0, 40.0)), "ten degrees and one"
    nothing = _moves(FLOW, [0.0, 0.0], [180.0, 0.0], [0])
    assert _no_peer_moved(nothing)(_sign(FLOW, 0.0, 180.0))


@pytest.mark.parametrize(
    ("why", "signal", "subjects", "make", "expected"),
    [
        ("flows are added", RACK_FLOW, ("rack/r1", "rack/r2"), change(RACK_FLOW, "rack/r1", by=-10.0), (-10.0, -10.0, 200.0, 2)),
        ("powers are added", WATTS, ("node/n1/gpu/0", "node/n1/gpu/1"), change(WATTS, "node/n1/gpu/0", by=50.0), (50.0, 50.0, 1300.0, 2)),
        ("degrees are not", INLET, ("rack/r1", "rack/r2"), change(INLET, "rack/r1", by=3.0), (1.5, 1.5, 32.4, 2)),
        ("lately it moved farther", INLET, ("rack/r1",), of(change(INLET, "rack/r1", by=1.0), change(INLET, "rack/r1", by=2.0, at=195)), (2.0, 3.0, 32.4, 1)),
        ("who was not seen before is none", INLET, ("rack/r1", "rack/r2"), of(change(INLET, "rack/r1", by=3.0), change(INLET, "rack/r2", times=NAN, at=0)), (3.0, 3.0, 32.4, 1)),
        ("who is not seen now is none", INLET, ("rack/r1", "rack/r2"), of(change(INLET, "rack/r1", by=3.0), change(INLET, "rack/r2", times=NAN)), (3.0, 3.0, 32.4, 1)),
        ("who is not seen lately is none", INLET, ("rack/r1", "rack/r2"), of(change(INLET, "rack/r1", by=3.0), change(INLET, "rack/r2", times=NAN, at=200)), (3.0, 3.0, 32.4, 1)),
        ("who is not there is none", INLET, ("rack/r1", "rack/r9"), change(INLET, "rack/r1", by=3.0), (3.0, 3.0, 32.4, 1)),
        ("nobody is", INLET, ("rack/r9",), of(), None),
    ],
)  # fmt: skip
def test_how_witnesses_moved(
    quiet: Any, why: str, signal: str, subjects: tuple[str, ...], make: Make, expected: tuple[float, ...] | None
) -> None:
    make(quiet)
    found = _change(quiet.scene, signal, frozenset(subjects), 1500.0)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-3)), why


def test_a_broken_witness_says_nothing(quiet: Any) -> None:
    scene = quiet.scene
    scene.distrust(INLET, "rack/r1")
    assert _change(scene, INLET, frozenset({"rack/r1"}), 1500.0) is None


@pytest.mark.parametrize(
    ("signal", "usual", "least"), [(RACK_FLOW, 200.0, 10.0), (INLET, 32.0, 1.0), (FAN, 0.5, 0.08), (FAN, -2.0, 0.2), (RACK_FLOW, 0.0, 1e-9)]
)  # fmt: skip
def test_the_least_move_of_a_witness(signal: str, usual: float, least: float) -> None:
    assert _least(signal, DriftChange(0.0, 0.0, usual, 1)) == pytest.approx(least)


@pytest.mark.parametrize(("signal", "unit"), [(FLOW, "litres_per_minute"), (RACK_FLOW, "litres_per_minute"), (INLET, "celsius"), (FAN, "ratio"), (WATTS, "watts")])  # fmt: skip
def test_the_unit_of_a_signal(signal: str, unit: str) -> None:
    assert _unit(signal) == unit


def test_the_power_that_explains_a_part_of_what_a_sensor_says(quiet: Any) -> None:
    """Three tenths of 10 degrees, of 30 above the coolant, of 650 W, by a factor of 1.5 for what does not warm it."""
    power = DriftChange(0.0, 0.0, 650.0, 1)
    assert _power_for(quiet.scene, _sign(HEAT, 62.0, 72.0), power) == pytest.approx(0.3 * 10 / 30 * 650 / 1.5)
    assert _power_for(quiet.scene, _sign(HEAT, 62.0, 52.0), power) == pytest.approx(0.3 * 10 / 30 * 650 / 1.5)
    assert _power_for(quiet.scene, _sign(HEAT, 10.0, 20.0), power) == pytest.approx(0.3 * 10 * 650 / 1.5), "one degree"


def test_the_coarsest_of_several_witnesses_counts(quiet: Any) -> None:
    assert _coarseness(quiet.scene, INLET, frozenset({"rack/r1", "rack/r9"})) == 0.0
    quiet.tables[INLET].values[0] = 32.0 + np.arange(240) % 2
    quiet.tables[INLET].values[1] = 32.0 + 0.5 * (np.arange(240) % 2)
    assert _coarseness(quiet.scene, INLET, frozenset({"rack/r1", "rack/r2"})) == 1.0
    assert _coarseness(quiet.scene, INLET, frozenset({"rack/r2"})) == 0.5
    assert _coarseness(quiet.scene, INLET, frozenset()) == 0.0


def _drifts(world: Any) -> set[str]:
    return {cause for cause, _ in world.candidates(SEAM)}


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("a fan that turns a tenth of its whole speed faster", change(FAN, "node/n1", by=0.101), {"node/n1"}),
        ("by less", change(FAN, "node/n1", by=0.099), set()),
        ("a chip eight degrees hotter", change(HEAT, "node/n1/gpu/0", by=8.01), {"node/n1/gpu/0"}),
        ("by less than eight", change(HEAT, "node/n1/gpu/0", by=7.99), set()),
        ("eighty watts more", change(WATTS, "node/n1/gpu/0", by=80.1), {"node/n1/gpu/0"}),
        ("less than eighty", change(WATTS, "node/n1/gpu/0", by=79.9), set()),
        ("a node 1,500 W more", of(measured("node_power_watts", {"node/n1": 6000.0}), change("node_power_watts", by=1501.0)), {"node/n1"}),
        ("less than 1,500", of(measured("node_power_watts", {"node/n1": 6000.0}), change("node_power_watts", by=1499.0)), set()),
        ("for two minutes", change(SUPPLY, "cdu/c1", by=4.0, at=227), {"cdu/c1"}),
        ("for less", change(SUPPLY, "cdu/c1", by=4.0, at=228), set()),
        ("what drivers tell of, for five minutes", of(measured("node_power_watts", {"node/n1": 6000.0}), change("node_power_watts", by=2000.0, at=209)), {"node/n1"}),
        ("for less than five", of(measured("node_power_watts", {"node/n1": 6000.0}), change("node_power_watts", by=2000.0, at=210)), set()),
    ],
)  # fmt: skip
def test_how_far_and_how_long_it_wanders(quiet: Any, why: str, make: Make, found: set[str]) -> None:
    make(quiet)
    assert _drifts(quiet) == found, why


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("its inlet is as much warmer by three tenths", of(change(SUPPLY, "cdu/c1", by=4.0), change(INLET, "rack/r1", "rack/r2", by=1.201)), set()),
        ("by less than three tenths", of(change(SUPPLY, "cdu/c1", by=4.0), change(INLET, "rack/r1", "rack/r2", by=1.199)), {"cdu/c1"}),
        ("the room agrees with what is warmer", of(change("ambient_celsius", by=6.0), change(SUPPLY, by=1.9)), set()),
        ("a room beside units that hold their supply", change("ambient_celsius", by=6.0), {"room/h1"}),
        ("a room of which only units and GPUs are read", of(without(AIR), change("ambient_celsius", by=6.0)), set()),
        ("a return, where racks tell the load", of(without(WATTS), measured("cdu_return_celsius", {"cdu/c1": 40.0}), measured("rack_power_watts", {"rack/r1": 4e4}), change("cdu_return_celsius", by=6.0)), {"cdu/c1"}),
    ],
)  # fmt: skip
def test_which_witness_agrees(quiet: Any, why: str, make: Make, found: set[str]) -> None:
    make(quiet)
    assert _drifts(quiet) == found, why


@pytest.mark.parametrize(("step", "found"), [(1.3, {"cdu/c1"}), (1.4, set())])
def test_a_coarse_instrument_wanders_by_three_of_its_own_steps(quiet: Any, step: float, found: set[str]) -> None:
    row = quiet.tables[SUPPLY].values[0]
    row[:40] += step * (np.arange(40) % 4 == 0)
    row[150:] += 4.0
    assert _drifts(quiet) == found


@pytest.mark.parametrize(("fleet", "count", "found"), [(40, 8, False), (45, 9, False), (40, 4, True), (40, 5, False)])
def test_many_that_move_are_no_lone_instruments(quiet: Any, fleet: int, count: int, found: bool) -> None:
    names = [f"node/x{n}" for n in range(fleet)]
    quiet.add(FAN, dict.fromkeys(names, 0.5))
    quiet.add(AIR, dict.fromkeys(names, 27.0))
    quiet.change(FAN, *names[:count], by=0.2)
    assert bool(_drifts(quiet)) is found


@pytest.mark.parametrize(("warmer", "found"), [(32, 64), (33, 0)])
def test_of_a_large_fleet_sixty_four_may_wander(quiet: Any, warmer: int, found: int) -> None:
    """Half of them get warmer and half colder, so that each has fewer than a tenth beside it."""
    units, racks = [f"cdu/x{n}" for n in range(400)], [f"rack/x{n}" for n in range(400)]
    quiet.topology = Topology(tuple(Edge("cools", unit, rack) for unit, rack in zip(units, racks, strict=True)))
    quiet.tables = {}
    of(measured(SUPPLY, dict.fromkeys(units, 30.0)), measured(INLET, dict.fromkeys(racks, 30.0)))(quiet)
    of(change(SUPPLY, *units[:warmer], by=5.0), change(SUPPLY, *units[100:132], by=-5.0))(quiet)
    assert len(_drifts(quiet)) == found


def test_many_that_move_each_in_its_own_way_are_no_lone_instruments(quiet: Any) -> None:
    """Nine of forty, each twice as far as the one before it: eight are still lone."""
    names = [f"node/x{n}" for n in range(40)]
    for count, found in ((8, True), (9, False)):
        quiet.add("node_power_watts", dict.fromkeys(names, 1e4))
        quiet.add(WATTS, {f"{name}/gpu/0": 600.0 for name in names})
        quiet.add(HEAT, {f"{name}/gpu/0": 62.0 for name in names})
        quiet.add(USE, {f"{name}/gpu/0": 0.95 for name in names})
        for n in range(count):
            quiet.change("node_power_watts", names[n], by=1600.0 * 3.0**n * (-1.0 if n % 2 else 1.0))
        assert bool(_drifts(quiet)) is found


def test_every_witness_is_a_signal_that_is_known() -> None:
    for signal, witnesses in WITNESSES.items():
        assert {signal, *(name for name, _ in witnesses)} <= set(signals())


def test_a_rack_beside_no_node_that_works_has_only_its_unit_for_a_witness(quiet: Any) -> None:
    quiet.link(Edge("cools", "cdu/c2", "rack/r1"))
    of(change(RACK_FLOW, "rack/r1", times=0.8), gpus(USE, nodes(1, 3), times=0.0))(quiet)
    (one,) = quiet.candidates(SEAM).values()
    assert one.reasons[1:] == ["cdu_flow_litres_per_minute of 2 next to it is unchanged"]


def test_what_a_table_of_no_rows_shows(quiet: Any) -> None:
    quiet.tables[FLOW] = SignalTable((), np.empty((0, 240), np.float32))
    assert _drifts(quiet) == set()
