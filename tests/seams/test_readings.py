"""Readings: how an instrument rests and moves, how often it is read, who falls silent with whom, who wanders alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from holdfast import seams
from holdfast.model.panel import Panel
from holdfast.model.signal import Event
from holdfast.model.topology import Edge, Topology
from holdfast.seams.instruments import _rest, bad_readings
from holdfast.seams.moved import cadence_columns, resolution
from holdfast.seams.rules.sensor_broken import SEAM as BROKEN
from holdfast.seams.rules.sensor_drift import SEAM as DRIFT
from tests.seams.making import START, Make, change, gpus, measured, nodes, of, without

FLOW, RACK_FLOW, PRESSURE = (
    "cdu_flow_litres_per_minute",
    "rack_flow_litres_per_minute",
    "cdu_differential_pressure_pascals",
)
SUPPLY, INLET, HEAT = "cdu_supply_celsius", "rack_inlet_celsius", "gpu_temperature_celsius"
WATTS, USE, FAN = "gpu_power_watts", "gpu_utilization_ratio", "fan_speed_ratio"
NAN = float("nan")


@pytest.mark.parametrize(
    ("why", "row", "rest"),
    [
        ("it never moved", [5, 5, 5], None),
        ("it moved once", [5, 6, 6], None),
        ("twice", [1, 2, 3, 3, 3], (2, 1, 2, 1.0, 1.0)),
        ("what was not seen is no movement", [1, NAN, 2, 2, 4, 4], (1, 2, 2, 1.0, 1.5)),
        ("it moves still", [1, 4, 2], (0, 1, 2, 2.0, 2.5)),
        ("a millionth of its size is rounding", [1e6, 1e6 + 0.5, 1e6, 1e6 + 0.5], None),
        ("more is not", [1e6, 1e6 + 2, 1e6], (0, 1, 2, 2.0, 2.0)),
        ("nothing was seen", [NAN, NAN], None),
    ],
)
def test_how_an_instrument_rests(why: str, row: list[float], rest: tuple[float, ...] | None) -> None:
    assert _rest(np.array(row, np.float32)) == rest, why


def _held(*gaps: int) -> list[float]:
    """A value that changes after so many columns each time."""
    return [float(number) for number, gap in enumerate((*gaps, 1)) for _ in range(gap)]


@pytest.mark.parametrize(
    ("why", "rows", "every"),
    [
        ("every third column", [_held(*[3] * 22)], 3),
        ("twenty times are enough to tell", [_held(*[3] * 21)], 3),
        ("nineteen are not", [_held(*[3] * 20)], 1),
        ("two of forty sooner are luck", [_held(3, 1, 1, *[3] * 38)], 3),
        ("three are not", [_held(3, 1, 1, 1, *[3] * 37)], 1),
        ("between two rows lies no time", [_held(*[3] * 12), _held(*[3] * 12)], 3),
        ("of many rows some are looked at", [_held(*[3] * 22), [float(n) for n in range(67)]] * 32, 3),
        ("nothing changes", [[1.0] * 60], 1),
        ("what is not seen is no change", [[1.0, NAN] * 40], 1),
    ],
)
def test_how_often_instruments_are_read(why: str, rows: list[list[float]], every: int) -> None:
    assert cadence_columns(np.array(rows, np.float32)) == every, why


@pytest.mark.parametrize(
    ("row", "step"),
    [
        ([0, 2] * 4 + [0], 2.0), ([0, 2] * 4, 0.0), ([0, 2] * 4 + [1], 1.0), ([5.0] * 9, 0.0),
        ([0, NAN] + [0, 2] * 4 + [0], 2.0), ([1e6, 1e6 + 0.5] * 8, 0.0),
    ],
)  # fmt: skip
def test_the_smallest_step_of_a_row_that_takes_eight(row: list[float], step: float) -> None:
    assert resolution(np.array([row], np.float32)).tolist() == [step]


def _walks(world: Any, steps: Sequence[float], until: int) -> None:
    """Still at first, then one step a column, the last of them at that column, then still."""
    row = world.tables[FLOW].values[0]
    row[:] = 200.0
    row[until - len(steps) + 1 : until + 1] += np.cumsum(steps)
    row[until + 1 :] = row[until]


COARSE = [3, -3] * 5 + [1, -1]


@pytest.mark.parametrize(
    ("why", "steps", "until", "stuck"),
    [
        ("fine, and still for three minutes", COARSE, 221, True),
        ("not for three minutes", COARSE, 222, False),
        ("eleven steps are too few to know it", COARSE[1:], 200, False),
        ("it usually moves by two of its steps", [2, -2] * 5 + [1, -1], 200, False),
        ("still for four times its longest rest", [3, *[0] * 9, *COARSE], 199, True),
        ("not for four times", [3, *[0] * 9, *COARSE], 200, False),
        ("it fell where it never was", [*COARSE, -3], 200, False),
    ],
)
def test_when_an_instrument_is_stuck(quiet: Any, why: str, steps: list[float], until: int, stuck: bool) -> None:
    _walks(quiet, steps, until)
    found = [
        (bad.subject, bad.since) for bad in bad_readings({FLOW: quiet.tables[FLOW]}, quiet.times) if bad.kind == "stuck"
    ]
    assert found == ([("cdu/c1", 10.0 * until)] if stuck else []), why


@pytest.mark.parametrize(
    ("why", "mates", "moved", "by", "stuck"),
    [
        ("by eight of its steps", 5, 5, 8.0, True),
        ("by seven", 5, 5, 7.0, False),
        ("four of five", 5, 4, 8.0, True),
        ("three of five", 5, 3, 8.0, False),
        ("three are enough", 3, 3, 8.0, True),
        ("two are not", 2, 2, 8.0, False),
    ],
)
def test_a_coarse_instrument_beside_its_mates(
    quiet: Any, why: str, mates: int, moved: int, by: float, stuck: bool
) -> None:
    quiet.add(HEAT, {f"node/n1/gpu/{number}": 60.0 for number in range(mates + 1)})
    values = quiet.tables[HEAT].values
    values[:] = 60.0 + np.arange(240) % 2
    values[0, 100:] = 60.0
    values[1 : 1 + moved, 170:] += by
    found = {bad.subject for bad in bad_readings({HEAT: quiet.tables[HEAT]}, quiet.times) if bad.kind == "stuck"}
    assert found == ({"node/n1/gpu/0"} if stuck else set()), why


def _silent(signal: str, *subjects: str, at: int = 150) -> Make:
    return change(signal, *subjects, times=NAN, at=at)


def _fans(count: int) -> Make:
    names = nodes(1, count)
    return of(
        without("node_inlet_celsius"),
        measured(FAN, dict.fromkeys(names, 0.5)),
        lambda world: setattr(world, "topology", Topology(tuple(Edge("cools", "rack/x", name) for name in names))),
    )


GONE = "sensor.lost"


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("four of five nodes of a rack", of(_fans(5), *(_silent(FAN, f"node/n{n}") for n in range(1, 5))), {("rack/x", GONE)}),
        ("three of five", of(_fans(5), *(_silent(FAN, f"node/n{n}") for n in range(1, 4))), {(f"node/n{n}", GONE) for n in range(1, 4)}),
        ("within three minutes and a half", of(_fans(2), _silent(FAN, "node/n1"), _silent(FAN, "node/n2", at=171)), {("rack/x", GONE)}),
        ("not within", of(_fans(2), _silent(FAN, "node/n1"), _silent(FAN, "node/n2", at=172)), {("node/n1", GONE), ("node/n2", GONE)}),
        ("one node of one is a node", of(_fans(1), _silent(FAN, "node/n1")), {("node/n1", GONE)}),
    ],
)  # fmt: skip
def test_nodes_that_fall_silent_with_their_rack(quiet: Any, why: str, make: Make, found: set[tuple[str, str]]) -> None:
    quiet.tables = {name: table for name, table in quiet.tables.items() if "/gpu/" not in table.subjects[0]}
    make(quiet)
    assert set(quiet.candidates(BROKEN)) == found, why


@pytest.mark.parametrize(("silent", "clock"), [(9, True), (8, False)])
def test_nine_readings_of_ten_are_a_domain(quiet: Any, silent: int, clock: bool) -> None:
    racks = [f"rack/x{number}" for number in range(10)]
    of(without(INLET), measured(RACK_FLOW, dict.fromkeys(racks, 100.0)), _silent(RACK_FLOW, *racks[:silent]))(quiet)
    found = set(quiet.candidates(BROKEN))
    assert found == {("rack", "sensor.clock" if clock else GONE)}


@pytest.mark.parametrize(("late", "clock"), [(156, True), (157, False)])
def test_a_domain_falls_silent_within_a_minute(quiet: Any, late: int, clock: bool) -> None:
    of(_silent("feed_voltage_volts", "feed/a"), _silent("feed_voltage_volts", "feed/b", at=late))(quiet)
    found = set(quiet.candidates(BROKEN))
    assert (("feed", "sensor.clock") in found) is clock
    assert ({("feed/a", GONE), ("feed/b", GONE)} <= found) is not clock


def _drifts(world: Any) -> dict[str, Any]:
    return {cause: one.score - START for (cause, _), one in world.candidates(DRIFT).items()}


def _coarse(world: Any) -> None:
    """Inlets in whole degrees, which go to and fro."""
    world.tables[INLET].values[:] = 32.0 + np.arange(240) % 2


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("GPUs need not show two degrees, the racks must", change(SUPPLY, "cdu/c1", by=2.0), {"cdu/c1": 3.5}),
        ("three degrees both must", change(SUPPLY, "cdu/c1", by=3.0), {"cdu/c1": 4.0}),
        ("whole degrees are too coarse for a third of four", of(_coarse, change(SUPPLY, "cdu/c1", by=4.0)), {"cdu/c1": 3.5}),
        ("but not for a third of seven", of(_coarse, change(SUPPLY, "cdu/c1", by=7.0)), {"cdu/c1": 4.0}),
        ("twice what is worth a word", change(FLOW, "cdu/c1", times=0.91), {"cdu/c1": 4.0}),
        ("not twice", change(FLOW, "cdu/c1", times=0.93), {}),
        ("GPUs that rest are no witnesses", of(change(RACK_FLOW, "rack/r1", times=0.8), gpus(USE, nodes(1, 3), times=0.1)), {"rack/r1": 3.5}),
        ("a unit's return, beside its flow and supply", of(measured("cdu_return_celsius", {"cdu/c1": 40.0}), change("cdu_return_celsius", by=6.0)), {"cdu/c1": 4.5}),
        ("a unit's return, where nobody measures the load", of(without(WATTS), measured("cdu_return_celsius", {"cdu/c1": 40.0}), change("cdu_return_celsius", by=6.0)), {}),
        ("its racks draw more", of(measured("cdu_return_celsius", {"cdu/c1": 40.0}), change("cdu_return_celsius", by=6.0), measured("rack_power_watts", {"rack/r1": 40e3, "rack/r2": 40e3}), change("rack_power_watts", times=1.05)), {}),
        ("a pump that turns for nothing", change("cdu_pump_speed_ratio", "cdu/c1", by=-0.2), {"cdu/c1": 4.0}),
        ("a pressure that moves nothing", change(PRESSURE, "cdu/c1", times=0.7), {"cdu/c1": 4.0}),
        ("a rack's power, of no node", of(measured("node_power_watts", dict.fromkeys(nodes(1, 3), 6000.0)), measured("rack_power_watts", {"rack/r1": 20e3}), change("rack_power_watts", times=0.7)), {"rack/r1": 3.5}),
        ("a node's power, of no GPU", of(measured("node_power_watts", dict.fromkeys(nodes(1, 3), 6000.0)), change("node_power_watts", "node/n1", by=1600.0)), {"node/n1": 3.5}),
        ("a host that is a little busier", of(measured("node_power_watts", dict.fromkeys(nodes(1, 3), 6000.0)), change("node_power_watts", "node/n1", by=1400.0)), {}),
        ("air that no room and no GPU feels", change("node_inlet_celsius", "node/n1", by=4.0), {"node/n1": 4.0}),
        ("the room's air", of(change("node_inlet_celsius", "node/n1", by=4.0), change("ambient_celsius", by=1.3)), {}),
    ],
)  # fmt: skip
def test_whose_witnesses_say_nothing(quiet: Any, why: str, make: Make, found: dict[str, float]) -> None:
    make(quiet)
    assert _drifts(quiet) == {cause: pytest.approx(score) for cause, score in found.items()}, why


@pytest.mark.parametrize(("count", "found"), [(6, 6), (7, 0)])
def test_a_tenth_of_a_large_fleet_may_wander(quiet: Any, count: int, found: int) -> None:
    quiet.add(FAN, dict.fromkeys(nodes(1, 60), 0.55))
    quiet.change(FAN, *nodes(1, count), by=0.2)
    assert len(_drifts(quiet)) == found


@pytest.mark.parametrize(("columns", "found"), [(1, 0), (2, 1)])
def test_two_columns_are_a_window(columns: int, found: int) -> None:
    died = Event(kind="job_failed", at=0.0, text="", subject="job/a")
    assert len(seams.explain(Panel(np.arange(5000.0, 5000.0 + columns), {}, (died,)), Topology())) == found
