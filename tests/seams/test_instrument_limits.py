"""Instruments that read wrong: how long still, how long gone, how far beyond what can be; and who wanders alone."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.panel import SignalTable
from holdfast.model.topology import Edge, Topology
from holdfast.seams.instruments import BadReading, _would_have_left, bad_readings
from holdfast.seams.rules.sensor_broken import SEAM as BROKEN
from holdfast.seams.rules.sensor_broken import _parents
from holdfast.seams.rules.sensor_drift import SEAM as DRIFT
from tests.seams.making import START, Make, change, gpus, measured, nodes, of

FLOW, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
SUPPLY, INLET, PRESSURE = "cdu_supply_celsius", "rack_inlet_celsius", "cdu_differential_pressure_pascals"
HEAT, WATTS, CLOCK, USE, FAN = (
    "gpu_temperature_celsius",
    "gpu_power_watts",
    "gpu_clock_sm_hertz",
    "gpu_utilization_ratio",
    "fan_speed_ratio",
)
NAN = float("nan")


def _bad(world: Any, kind: str) -> list[tuple[str, str, float]]:
    found = bad_readings(world.tables, world.times)
    return [(bad.subject, bad.signal, bad.since) for bad in found if bad.kind == kind]


def _restless(world: Any, signal: str, every: int, until: int) -> Any:
    """A row that changes every so many columns until it sticks where it was."""
    row = world.tables[signal].values[0]
    noise = np.random.default_rng(7).normal(0.0, 1.0, until // every + 1).round(2)
    row[:until] = 200.0 + np.repeat(noise, every)[:until]
    row[until:] = row[until - 1]
    return row


@pytest.mark.parametrize(
    ("why", "every", "until", "since"),
    [
        ("never still before, now for three minutes", 1, 222, 2210.0),
        ("not for three minutes", 1, 224, None),
        ("read every 40 s: not ten readings long", 4, 203, None),
        ("read every 40 s: for more than ten readings", 4, 196, 1920.0),
    ],
)
def test_how_long_an_instrument_must_be_still(
    quiet: Any, why: str, every: int, until: int, since: float | None
) -> None:
    _restless(quiet, FLOW, every, until)
    found = [bad for bad in _bad(quiet, "stuck") if bad[:2] == ("cdu/c1", FLOW)]
    assert found == ([("cdu/c1", FLOW, since)] if since else []), why


def test_a_sensor_sticks_where_it_was_and_falls_to_nothing_otherwise(quiet: Any) -> None:
    row = _restless(quiet, FLOW, 1, 200)
    assert _bad(quiet, "stuck") != []
    for other in (0.0, 300.0):
        row[200:] = other
        assert [bad for bad in _bad(quiet, "stuck") if bad[1] == FLOW] == []


@pytest.mark.parametrize(("signal", "stuck"), [("node_power_watts", True), ("psu_output_watts", False)])
def test_only_what_is_never_still_for_long_sticks(quiet: Any, signal: str, stuck: bool) -> None:
    quiet.add(signal, {"node/n1": 200.0})
    _restless(quiet, signal, 1, 200)
    assert bool([bad for bad in _bad(quiet, "stuck") if bad[1] == signal]) is stuck


@pytest.mark.parametrize("idle", [False, True])
def test_a_sensor_of_a_node_that_works_sticks_and_one_of_an_idle_node_rests(quiet: Any, idle: bool) -> None:
    _restless(quiet, HEAT, 1, 200)
    quiet.tables[HEAT].values[0] -= 140.0
    if idle:
        gpus(USE, nodes(1, 12), times=0.0)(quiet)
    assert (("node/n1/gpu/0", "sensor.stuck") in quiet.candidates(BROKEN)) is not idle


@pytest.mark.parametrize("signal", [CLOCK, "job_step_seconds", "storage_latency_seconds"])
def test_what_may_rest_never_sticks(quiet: Any, signal: str) -> None:
    row = quiet.tables[signal].values[0]
    row[:200] = row[0] * (1 + 0.01 * (np.arange(200) % 2))
    row[200:] = row[199]
    assert [bad for bad in _bad(quiet, "stuck") if bad[1] == signal] == []


@pytest.mark.parametrize(
    ("why", "columns", "value", "absurd"),
    [
        ("twice in the last minute", slice(238, 240), -1.0, True),
        ("once", slice(239, 240), -1.0, False),
        ("above what it can mean", slice(230, 240), 60_001.0, True),
        ("just what it can mean", slice(230, 240), 20_000.0, False),
        ("nothing flows", slice(230, 240), 0.0, False),
        ("it was so for long, but is not in the last minute", slice(100, 234), -1.0, False),
        ("twice at the beginning of the last minute", slice(234, 236), -1.0, True),
    ],
)
def test_what_an_instrument_cannot_mean(quiet: Any, why: str, columns: slice, value: float, absurd: bool) -> None:
    quiet.tables[FLOW].values[0, columns] = value
    assert _bad(quiet, "absurd") == ([("cdu/c1", FLOW, 10.0 * columns.start)] if absurd else []), why


@pytest.mark.parametrize(
    ("why", "signal", "first", "lost"),
    [
        ("for five minutes and a half", FLOW, 207, True),
        ("a gateway restarts", FLOW, 208, False),
        ("it never spoke for long", FLOW, 16, False),
        ("it spoke for long enough", FLOW, 17, True),
        ("a job may be silent", "job_step_seconds", 150, False),
        ("a value told now and then may be", "storage_write_bytes_per_second", 150, False),
    ],
)
def test_when_an_instrument_is_gone(quiet: Any, why: str, signal: str, first: int, lost: bool) -> None:
    if signal not in quiet.tables:
        quiet.add(signal, {"storage/s1": 1.0})
    quiet.tables[signal].values[0, first:] = NAN
    subject = quiet.tables[signal].subjects[0]
    assert _bad(quiet, "lost") == ([(subject, signal, 10.0 * first)] if lost else []), why


def _broken(world: Any) -> set[tuple[str, str]]:
    return {key for key in world.candidates(BROKEN) if key[1] != "sensor.stuck"}


def _silent(signal: str, *subjects: str, at: int = 150) -> Make:
    return change(signal, *subjects, times=NAN, at=at)


CDUS = (FLOW, SUPPLY, PRESSURE, "cdu_pump_speed_ratio")


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("all of a domain at once: its gateway", of(*(_silent(signal) for signal in CDUS)), {("cdu", "sensor.clock")}),
        ("within a minute", of(*(_silent(signal, at=150 + 2 * n) for n, signal in enumerate(CDUS))), {("cdu", "sensor.clock")}),
        ("not within a minute: what the units share", of(*(_silent(signal, at=150 + 3 * n) for n, signal in enumerate(CDUS))), {("room/h1", "sensor.lost")}),
        ("one after the other", of(_silent(CDUS[0], "cdu/c1"), _silent(CDUS[0], "cdu/c2", at=180)), {("cdu/c1", "sensor.lost"), ("cdu/c2", "sensor.lost")}),
        ("seven of eight", of(*(_silent(signal) for signal in CDUS[:3]), _silent(CDUS[3], "cdu/c1")), {("room/h1", "sensor.lost")}),
        ("the only reading there is", _silent("ambient_celsius"), {("room/h1", "sensor.lost")}),
        ("one signal of two", _silent("feed_voltage_volts"), {("feed", "sensor.clock")}),
        ("a node of which nothing else was ever told", of(_silent(FAN, "node/n1"), _silent("node_inlet_celsius", "node/n1")), {("node/n1", "sensor.lost")}),
        ("all fans of all nodes", of(_silent(FAN), _silent("node_inlet_celsius")), {("room/h1", "sensor.lost")}),
        ("an agent: all parts of one node", of(*(_silent(signal, "node/n1/gpu/0", "node/n1/gpu/1") for signal in (HEAT, WATTS, CLOCK, USE))), {("node/n1", "sensor.lost")}),
        ("one part of a node", of(*(_silent(signal, "node/n1/gpu/0") for signal in (HEAT, WATTS, CLOCK, USE))), {("node/n1/gpu/0", "sensor.lost")}),
        ("two nodes far apart", of(_silent(FAN, "node/n1"), _silent(FAN, "node/n12")), {("node/n1", "sensor.lost"), ("node/n12", "sensor.lost")}),
        ("four far apart", of(*(_silent(FAN, f"node/n{n}") for n in (1, 4, 7, 10))), {(f"node/n{n}", "sensor.lost") for n in (1, 4, 7, 10)}),
        ("five all over the site: what they share", of(*(_silent(FAN, f"node/n{n}") for n in (1, 4, 7, 10, 12))), {("room/h1", "sensor.lost")}),
        ("five, a minute from one to the next", of(*(_silent(FAN, f"node/n{n}", at=150 + 6 * i) for i, n in enumerate((1, 4, 7, 10, 12)))), {("room/h1", "sensor.lost")}),
        ("five, one of them later", of(*(_silent(FAN, f"node/n{n}", at=150 + 7 * (n == 12)) for n in (1, 4, 7, 10, 12))), {(f"node/n{n}", "sensor.lost") for n in (1, 4, 7, 10, 12)}),
        ("four nodes and a whole rack", of(*(_silent(FAN, f"node/n{n}") for n in (1, 2, 3, 4, 7, 10, 12))), {("room/h1", "sensor.lost")}),
        ("five that nothing is known to connect", of(lambda world: setattr(world, "topology", Topology((), {})), *(_silent(FAN, f"node/n{n}") for n in (1, 4, 7, 10, 12))), {("node", "sensor.lost")}),
    ],
)  # fmt: skip
def test_whose_instruments_are_gone(quiet: Any, why: str, make: Make, found: set[tuple[str, str]]) -> None:
    make(quiet)
    assert _broken(quiet) == found, why


def test_whole_degrees_that_rest_are_not_stuck_and_gaps_are_no_movement(quiet: Any) -> None:
    """Lively in whole steps while its value crosses a boundary, then at rest for an hour; before that, unseen."""
    row = quiet.tables[FLOW].values[0]
    row[:60] = 200.0 + np.arange(60) % 2
    row[60:] = 200.0
    row[10:30] = NAN
    assert [bad for bad in _bad(quiet, "stuck") if bad[1] == FLOW] == []


@pytest.mark.parametrize(("moves", "stuck"), [(12.0, True), (4.0, False)])
def test_a_coarse_instrument_is_stuck_where_all_beside_it_moved(quiet: Any, moves: float, stuck: bool) -> None:
    subjects = [f"node/n1/gpu/{number}" for number in range(5)]
    quiet.add(HEAT, dict.fromkeys(subjects, 60.0))
    values = quiet.tables[HEAT].values
    values[:] = 60.0 + np.arange(240) % 2
    values[0, 100:] = 60.0
    values[1:, 170:] += moves
    assert (("node/n1/gpu/0", HEAT) in {bad[:2] for bad in _bad(quiet, "stuck")}) is stuck


@pytest.mark.parametrize(
    ("why", "jobs", "idle", "found"),
    [
        ("two jobs of which nothing is told work on", 2, False, {("job", "sensor.clock")}),
        ("one may hang", 1, False, set()),
        ("they ended", 2, True, set()),
    ],
)
def test_jobs_that_fall_silent_while_their_gpus_work(
    quiet: Any, why: str, jobs: int, idle: bool, found: set[tuple[str, str]]
) -> None:
    names = ["job/llama", "job/b"][:jobs]
    for signal in ("job_step_seconds", "job_throughput_ratio", "job_collective_seconds"):
        quiet.add(signal, dict.fromkeys(names, 1.0))
        _silent(signal)(quiet)
    quiet.link(Edge("runs_on", "node/n1", "job/b"))
    if idle:
        gpus(USE, nodes(1, 12), times=0.0)(quiet)
    assert _broken(quiet) == found, why


def test_a_reading_that_no_one_knows_is_of_no_domain(quiet: Any) -> None:
    quiet.add("made_up_watts", {"cdu/c1": 1.0, "cdu/c2": 1.0})
    of(*(_silent(signal) for signal in CDUS))(quiet)
    assert _broken(quiet) == {("cdu", "sensor.clock")}


def test_whose_only_reading_no_one_knows_is_no_member_of_what_fell_silent(quiet: Any) -> None:
    others = [f"node/x{number}" for number in range(8)]
    quiet.add("made_up_watts", dict.fromkeys(others, 1.0))
    quiet.link(*(Edge("cools", "rack/r1", node) for node in others))
    of(_silent(FAN, *nodes(1, 3)), _silent("node_inlet_celsius", *nodes(1, 3)))(quiet)
    assert _broken(quiet) == {("rack/r1", "sensor.lost")}


def test_a_broken_instrument_is_proven_and_what_it_measured_is_not_known(quiet: Any) -> None:
    _silent(FLOW, "cdu/c1")(quiet)
    one = quiet.candidates(BROKEN)["cdu/c1", "sensor.lost"]
    assert (one.score, one.proven, len(one.unknown)) == (START + 4, True, 1)
    of(*(_silent(signal) for signal in CDUS))(quiet)
    whole = quiet.candidates(BROKEN)["cdu", "sensor.clock"]
    assert (whole.score, whole.proven, whole.since) == (START + 4, True, 1500.0)


def _drifts(world: Any) -> dict[str, float]:
    return {cause: one.score for (cause, _), one in world.candidates(DRIFT).items()}


AGREE = 0.5


@pytest.mark.parametrize(
    ("why", "make", "found"),
    [
        ("flow that nobody sees fall", change(FLOW, "cdu/c1", times=0.9), {"cdu/c1": 3 + 2 * AGREE}),
        ("its racks lose a third of that", of(change(FLOW, "cdu/c1", times=0.9), change(RACK_FLOW, "rack/r1", by=-6.1)), {}),
        ("its racks lose less", of(change(FLOW, "cdu/c1", times=0.9), change(RACK_FLOW, "rack/r1", by=-5.9)), {"cdu/c1": 3 + 2 * AGREE}),
        ("its pressure moves half of what is worth a word", of(change(FLOW, "cdu/c1", times=0.9), change(PRESSURE, "cdu/c1", times=0.94)), {}),
        ("its pressure hardly moves", of(change(FLOW, "cdu/c1", times=0.9), change(PRESSURE, "cdu/c1", times=0.96)), {"cdu/c1": 3 + 2 * AGREE}),
        ("for two minutes", change(FLOW, "cdu/c1", times=0.9, at=227), {"cdu/c1": 3 + 2 * AGREE}),
        ("not yet", change(FLOW, "cdu/c1", times=0.9, at=228), {}),
        ("warm supply, warm racks", of(change(SUPPLY, "cdu/c1", by=4.0), change(INLET, "rack/r1", "rack/r2", by=1.3)), {}),
        ("colder racks do not agree with it", of(change(SUPPLY, "cdu/c1", by=4.0), change(INLET, "rack/r1", "rack/r2", by=-2.0)), {"cdu/c1": 3 + 2 * AGREE}),
        ("a fan that turns faster for nothing", change(FAN, "node/n1", by=0.11), {"node/n1": 3 + 2 * AGREE}),
        ("a little faster", change(FAN, "node/n1", by=0.09), {}),
        ("one that turns slower fails", change(FAN, "node/n1", by=-0.2), {}),
        ("its witnesses may lag for five minutes", change(FAN, "node/n1", by=0.2, at=210), {}),
        ("then they would have told", change(FAN, "node/n1", by=0.2, at=209), {"node/n1": 3 + 2 * AGREE}),
        ("a chip hot alone", change(HEAT, "node/n1/gpu/0", by=9.0), {"node/n1/gpu/0": 3 + 4 * AGREE}),
        ("a chip a little hot", change(HEAT, "node/n1/gpu/0", by=7.9), {}),
        ("its neighbour warms too", of(change(HEAT, "node/n1/gpu/0", by=9.0), change(HEAT, "node/n1/gpu/1", by=2.8)), {}),
        ("it draws more", of(change(HEAT, "node/n1/gpu/0", by=9.0), change(WATTS, "node/n1/gpu/0", times=1.1)), {}),
        ("it draws too little more", of(change(HEAT, "node/n1/gpu/0", by=9.0), change(WATTS, "node/n1/gpu/0", times=1.045)), {"node/n1/gpu/0": 3 + 4 * AGREE}),
        ("its clock fell", of(change(HEAT, "node/n1/gpu/0", by=9.0), change(CLOCK, "node/n1/gpu/0", times=0.98)), {}),
        ("its node's fan answers", of(change(HEAT, "node/n1/gpu/0", by=9.0), change(FAN, "node/n1", by=0.05)), {}),
        ("power that warms nobody", change(WATTS, "node/n1/gpu/0", by=81.0), {"node/n1/gpu/0": 3 + 2 * AGREE}),
        ("a little power", change(WATTS, "node/n1/gpu/0", by=79.0), {}),
        ("a rack's flow", change(RACK_FLOW, "rack/r1", times=0.9), {"rack/r1": 3 + 2 * AGREE}),
        ("its unit gives it less", of(change(RACK_FLOW, "rack/r1", times=0.9), change(FLOW, "cdu/c1", by=-3.1)), {}),
        ("its GPUs warm", of(change(RACK_FLOW, "rack/r1", times=0.9), gpus(HEAT, nodes(1, 3), by=1.6)), {}),
        ("the room, whose units hold their supply", change("ambient_celsius", by=5.1), {"room/h1": 3 + AGREE}),
        ("the air into its nodes", of(change("ambient_celsius", by=4.0), change("node_inlet_celsius", by=1.3)), {}),
    ],
)  # fmt: skip
def test_who_wanders_alone(quiet: Any, why: str, make: Make, found: dict[str, float]) -> None:
    make(quiet)
    assert _drifts(quiet) == {cause: pytest.approx(START + score) for cause, score in found.items()}, why


@pytest.mark.parametrize(
    ("signal", "by", "most"), [(FLOW, -20.0, 0.8), (HEAT, 9.0, 0.8), (WATTS, 90.0, 0.8), (FAN, 0.2, 0.8)]
)
def test_a_chip_may_really_be_hot_alone(quiet: Any, signal: str, by: float, most: float) -> None:
    quiet.change(signal, quiet.tables[signal].subjects[0], by=by)
    (one,) = quiet.candidates(DRIFT).values()
    assert (one.most, one.proven) == (most, True)


@pytest.mark.parametrize(("count", "found"), [(2, 2), (3, 0)])
def test_many_that_move_together_are_no_lone_instruments(quiet: Any, count: int, found: int) -> None:
    quiet.change(FAN, *nodes(1, count), by=0.2)
    assert len(_drifts(quiet)) == found


def test_what_drifts_is_not_received_by_others(quiet: Any) -> None:
    quiet.change(FLOW, "cdu/c1", times=0.9)
    scene = quiet.scene
    list(DRIFT.explain(scene))
    assert scene.distrusted == {(FLOW, "cdu/c1")}
    assert scene.moved(FLOW) == {}


def test_without_a_witness_no_one_wanders(quiet: Any) -> None:
    measured("rack_power_watts", {"rack/r1": 40_000.0})(quiet)
    quiet.change("rack_power_watts", times=0.5)
    assert _drifts(quiet) == {}


def test_a_witness_that_moved_and_came_back_agrees(quiet: Any) -> None:
    """Over the whole time of the move, or over the last minute alone."""
    quiet.change(FLOW, "cdu/c1", times=0.9)
    quiet.change(RACK_FLOW, "rack/r1", by=-6.4)
    quiet.change(RACK_FLOW, "rack/r1", by=6.4, at=234)
    assert _drifts(quiet)  # 84 of 90 columns: 5.97 on average
    quiet.change(RACK_FLOW, "rack/r1", by=-1.0)
    assert not _drifts(quiet)
    quiet.change(RACK_FLOW, "rack/r1", by=7.4)
    quiet.change(RACK_FLOW, "rack/r1", by=-13.0, at=234)
    assert not _drifts(quiet)


@pytest.mark.parametrize(
    ("why", "levels", "rests_at", "stuck"),
    [
        ("every run of ten readings spans four levels", (0.0, 1.0, -1.0, 0.0, 2.0, 0.0, -1.0), 62.0, True),
        ("it passed through this level again and again", (0.0, 1.0, -1.0, 0.0, 1.0, 0.0, -1.0), 62.0, True),
        (
            "it came to this level and went back: rounded twice, it rests there",
            (-1.0, 0.0, -2.0, -1.0, 0.0),
            62.0,
            False,
        ),
        ("two levels: it may have left the edge between them", (0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0), 62.0, False),
        ("at a level at which it never moved", (0.0, 1.0, -1.0, 0.0, 2.0, 0.0, -1.0), 40.0, False),
    ],
)
def test_whole_degrees_that_never_rest_are_stuck_when_they_do(
    quiet: Any, why: str, levels: tuple[float, ...], rests_at: float, stuck: bool
) -> None:
    table = quiet.tables["cdu_supply_celsius"]
    table.values[0] = 62.0 + np.resize(levels, table.values.shape[1])
    table.values[0, 20:26] = rests_at
    table.values[0, 150:] = rests_at
    found = {bad.subject for bad in bad_readings(quiet.tables, quiet.times) if bad.kind == "stuck"}
    assert (table.subjects[0] in found) is stuck, why


def _passing(quiet: Any, *, others_rest: bool) -> set[str]:
    """Every instrument moves between three levels, and the first rests from column 150 on."""
    table = quiet.tables["rack_inlet_celsius"]
    levels = np.resize((0.0, 1.0, -1.0, 0.0, 1.0, 0.0, -1.0), table.values.shape[1])
    table.values[:] = 30.0 + levels
    table.values[0, 150:] = 30.0
    if others_rest:
        table.values[1:, 150:] = 30.0
        table.values[1:, -1] = 31.0  # they are not stuck: they moved just now
    return {bad.subject for bad in bad_readings(quiet.tables, quiet.times) if bad.kind == "stuck"}


def test_an_instrument_may_rest_where_all_of_its_kind_calmed_down(quiet: Any) -> None:
    first = quiet.tables["rack_inlet_celsius"].subjects[0]
    assert _passing(quiet, others_rest=False) == {first}
    assert _passing(quiet, others_rest=True) == set()


@pytest.mark.parametrize(("instruments", "stuck"), [(32, True), (33, False)])
def test_of_many_coarse_instruments_one_rests_by_chance(quiet: Any, instruments: int, stuck: bool) -> None:
    columns = len(quiet.times)
    values = np.tile(30.0 + np.resize((0.0, 1.0, -1.0, 0.0, 1.0, 0.0, -1.0), columns), (instruments, 1))
    values[0, 150:] = 30.0
    table = SignalTable(tuple(f"rack/r{number}" for number in range(instruments)), values.astype(np.float32))
    found = {bad.subject for bad in bad_readings({"rack_inlet_celsius": table}, quiet.times) if bad.kind == "stuck"}
    assert found == ({"rack/r0"} if stuck else set())


@pytest.mark.parametrize(
    ("instruments", "crossings", "still", "left"),
    [(4, 3, 15, True), (4, 2, 60, False), (4, 3, 14, False), (2, 5, 15, True), (2, 4, 60, False)],
)
def test_how_often_and_how_long(instruments: int, crossings: int, still: int, left: bool) -> None:
    """Three passes through a level are enough, five where no other instrument of its kind is there."""
    before = np.array([side for turn in range(crossings + 1) for side in ((-1.0) ** turn, 0.0)][:-1])
    lively = np.tile(np.arange(100) % 2, (instruments, 1)).astype(np.float32)
    table = SignalTable(tuple(f"rack/r{number}" for number in range(instruments)), lively)
    assert _would_have_left(table, before, 0.0, still, 1) is left


def test_a_parent_of_silent_instruments_has_several_that_no_larger_group_has(quiet: Any) -> None:
    """Rack 1 and its nodes are all that the unit cools."""
    quiet.unlink("cdu/c1", "rack/r2")
    away = {name: [BadReading("lost", name, FAN, 1500.0, "")] for name in (*nodes(1, 3), "rack/r1")}
    found = _parents(quiet.scene, away)
    assert {parent: sorted(members) for parent, members in found.items()} == {"rack/r1": [*nodes(1, 3)]}
