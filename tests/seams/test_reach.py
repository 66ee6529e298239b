"""Whom each cause can touch and in what, and what it says of itself."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams import ALL
from holdfast.seams.fabric_links import Links
from tests.seams.making import Make, change, gpus, happens, hot, linked, measured, nodes, of, without

JOB, GOAL, N4 = "job/llama", "milestone/m1", "node/n4"
HEAT, USE, CLOCK, STEP = "gpu_temperature_celsius", "gpu_utilization_ratio", "gpu_clock_sm_hertz", "job_step_seconds"
CDU, SUPPLY, RACK_FLOW = "cdu_flow_litres_per_minute", "cdu_supply_celsius", "rack_flow_litres_per_minute"
PRESSURE, FAN, ROOM = "cdu_differential_pressure_pascals", "fan_speed_ratio", "ambient_celsius"
BANDWIDTH, CONGESTION, LINK_USE = "link_bandwidth_bytes_per_second", "link_congestion_ratio", "link_utilization_ratio"
CHECKPOINT, INTERVAL, WROTE = "job_checkpoint_seconds", "job_checkpoint_interval_seconds", "rank_checkpoint_seconds"
COMPUTE, TRANSFER, SHARE = "rank_compute_seconds", "pool_transfer_seconds", "pool_routing_share"
ONE, PATH = "link/leaf1-spine1", "path/prefill-decode"
WORK = {"step", "throughput", "collective", "checkpoint"}
HOT_WORK = WORK | {"heat", "clock", "gpu_power", "fan"}
NAN = float("nan")


def _rails(world: Any) -> None:
    ports = {f"node/n{n}/nic/mlx5_0": 0.01 for n in range(1, 4)}
    world.add("port_xmit_wait_ratio", ports)
    world.link(*(Edge("connects", "switch/rail0", port) for port in ports))
    world.change("port_xmit_wait_ratio", by=0.05)


def _swing(world: Any) -> None:
    row = world.tables[CDU].values[0]
    row[230:240] *= np.resize([1.2, 1.2, 0.8, 0.8], 10)


@pytest.mark.parametrize(
    ("kind", "cause", "make", "explains", "reach", "beyond"),
    [
        ("cooling.ambient", "room/h1", change(ROOM, by=5.0), HOT_WORK | {"ambient", "supply"}, {"cdu/c1", N4, JOB, GOAL}, {"feed/a"}),
        ("cooling.flow_low", "cdu/c1", change(CDU, "cdu/c1", times=0.5), HOT_WORK | {"rack_flow"}, {"rack/r2", N4, JOB, GOAL}, {"rack/r3", "room/h1"}),
        ("cooling.supply_warm", "cdu/c1", change(SUPPLY, "cdu/c1", by=5.0), HOT_WORK | {"inlet"}, {"rack/r2", N4, JOB, GOAL}, {"rack/r3"}),
        ("cooling.plant", "room/h1", change(SUPPLY, by=5.0), HOT_WORK | {"supply"}, {"cdu/c1", N4, JOB, GOAL}, {"feed/a"}),
        ("cooling.pump_oscillation", "cdu/c1", _swing, HOT_WORK | {"flow"}, {"rack/r2", N4, JOB, GOAL}, {"rack/r3"}),
        ("cooling.rack_blocked", "rack/r2", change(RACK_FLOW, "rack/r2", times=0.5), HOT_WORK | {"inlet"}, {N4, JOB, GOAL}, {"node/n1", "cdu/c1"}),
        ("cooling.unmetered", "cdu/c1", of(without(CDU), without(SUPPLY), hot(nodes(1, 6))), HOT_WORK, {"rack/r2", N4, JOB}, {"rack/r3"}),
        ("cooling.fan", N4, change(FAN, N4, times=0.6), WORK | {"heat", "clock", "inlet"}, {N4, JOB, GOAL}, {"node/n5"}),
        ("power.cap", "rack/r2", gpus("gpu_clock_event_reasons", nodes(4, 6), by=4.0), WORK | {"clock", "held_back"}, {N4, JOB, GOAL}, {"node/n1"}),
        ("power.feed_lost", "feed/a", change("feed_voltage_volts", "feed/a", times=0.5), WORK | {"psu", "clock"}, {"psu/r1-a", "rack/r1", N4, JOB}, {"psu/r1-b"}),
        ("power.psu", "psu/r2-a", change("psu_healthy", "psu/r2-a", times=0.0), WORK | {"clock"}, {"rack/r2", N4, JOB}, {"node/n1"}),
        ("fabric.uplink", ONE, change(BANDWIDTH, ONE, times=0.5), WORK | {"congestion", "share", "transfer"}, {"link/leaf1-spine2", "link/leaf2-spine1", N4, JOB}, {"link/leaf2-spine2", "node/n12"}),
        ("fabric.leaf", "switch/leaf1", change(BANDWIDTH, *(f"link/leaf1-spine{n}" for n in (1, 2, 3)), times=0.5), WORK | {"congestion", "share"}, {ONE, N4, JOB}, {"link/leaf2-spine1", "node/n12"}),
        ("fabric.congestion", ONE, change(CONGESTION, ONE, by=0.1), WORK | {"link_use", "share"}, {"link/leaf1-spine2", N4, JOB}, {"link/leaf2-spine2"}),
        ("fabric.rail", "switch/rail0", _rails, WORK | {"port_wait"}, {"node/n1/nic/mlx5_0", JOB}, {"node/n9", "switch/leaf1"}),
        ("pools.path", PATH, of(linked(Edge("feeds", PATH, "pool/decode")), change(TRANSFER, PATH, times=2.0)), {"transfer", "latency", "stall"}, {PATH, "pool/decode"}, {JOB}),
        ("pools.imbalance", PATH, change(SHARE, by=0.1), {"share", "stall"}, {PATH}, {JOB}),
        ("gpu.slow", "node/n3/gpu/1", of(change(CLOCK, "node/n3/gpu/1", times=0.8), linked(Edge("runs_on", "node/n3/gpu/2", "job/b"))), WORK | {"clock", "heat", "compute"}, {"job/llama/rank/5", JOB}, {"node/n4"}),
        ("node.slow", "node/n3", change(COMPUTE, "job/llama/rank/4", "job/llama/rank/5", times=1.2), WORK | {"compute", "data"}, {"node/n3", JOB, "job/llama/rank/4", GOAL}, {"job/llama/rank/6"}),
        ("job.rank_slow", "job/llama/rank/5", change(COMPUTE, "job/llama/rank/5", times=1.2), WORK | {"compute", "data"}, {"job/llama/rank/5", JOB}, {"job/llama/rank/4"}),
        ("storage.metadata", "storage/s1", change("storage_metadata_seconds", times=6.0), WORK | {"data", "metadata"}, {JOB, GOAL}, {N4}),
        ("storage.write_slow", "storage/s1", change("storage_latency_seconds", times=6.0), WORK | {"storage_write"}, {JOB, GOAL}, {N4}),
        ("storage.one_writer", "node/n2", of(measured(WROTE, {f"job/llama/rank/{n}": 30.0 for n in range(24)}), change(WROTE, "job/llama/rank/3", times=2.0)), WORK | {"rank_checkpoint"}, {"node/n2", JOB, GOAL}, {"node/n3"}),
        ("schedule.slow_recovery", JOB, happens("job_failed", JOB, 100.0), WORK | {"compute", "utilization", "gpu_power", "rack_power"}, {JOB, GOAL}, {N4}),
        ("schedule.cadence_long", JOB, of(measured(INTERVAL, {JOB: 1200.0}), measured("job_mtbf_seconds", {JOB: 600.0})), {"checkpoint", "interval"}, {JOB, GOAL}, {N4}),
        ("schedule.degraded_kept", "node/n3", of(happens("verdict", "node/n3", 900.0, health="fail"), change(CLOCK, "node/n3/gpu/1", times=0.7), change(STEP, times=3.2)), WORK | {"clock", "compute"}, {"node/n3", JOB, GOAL}, {"node/n4"}),
        ("software.rollout", "software/d1", of(*(happens("driver_rollout", f"node/n{n}", 2000.0, version="d1") for n in (1, 2)), *(happens("xid", f"node/n{n}/gpu/0", 2100.0, 79) for n in (1, 2))), WORK | {"xid", "job_failed", "compute"}, {"node/n1", "node/n2", JOB, GOAL}, {"node/n3"}),
        ("sensor.lost", "cdu/c1", change(CDU, "cdu/c1", times=NAN), set(), {"cdu/c1"}, {"rack/r1"}),
        ("sensor.absurd", "cdu/c1", change(CDU, "cdu/c1", times=-1.0), set(), {"cdu/c1"}, {"rack/r1"}),
        ("sensor.clock", "feed", change("feed_voltage_volts", times=NAN), set(), {"feed/a", "feed/b"}, {"psu/r1-a"}),
        ("sensor.drift", "cdu/c1", change(CDU, "cdu/c1", times=0.9), {"flow"}, {"cdu/c1"}, {"rack/r1"}),
    ],
)  # fmt: skip
def test_which_subjects_a_cause_affects_and_how(
    quiet: Any, kind: str, cause: str, make: Make, explains: set[str], reach: set[str], beyond: set[str]
) -> None:
    make(quiet)
    (seam,) = (seam for seam in ALL if kind in seam.kinds and (cause, kind) in quiet.candidates(seam))
    one = quiet.candidates(seam)[cause, kind]
    assert explains <= one.explains
    assert bool(explains) is bool(one.explains)
    assert reach <= one.reach
    assert not beyond & one.reach
    assert seam.asked_first is kind.startswith("sensor.")


@pytest.mark.parametrize(
    ("kind", "cause", "make", "expected"),
    [
        ("schedule.slow_recovery", JOB, happens("job_failed", JOB, 100.0), "is down for 2290 s"),
        ("schedule.slow_recovery", JOB, of(happens("job_failed", JOB, 100.0), happens("job_restarted", JOB, 1300.0)), "took 1200 s"),
        ("power.cap", "rack/r2", gpus("gpu_clock_event_reasons", nodes(4, 6), by=4.0), "GPUs of 3 nodes behind rack/r2 are held"),
        ("power.brake", "rack/r2", gpus("gpu_clock_event_reasons", nodes(4, 6), by=128.0), "GPUs of 3 nodes behind rack/r2 are braked"),
        ("fabric.uplink", ONE, change(BANDWIDTH, ONE, times=0.5), "3 links of the same switches are normal"),
        ("cooling.rack_blocked", "rack/r2", change(RACK_FLOW, "rack/r2", times=0.5), "flow is normal in 1 of 1 neighbouring racks"),
        ("software.rollout", "software/d1", of(*(happens("driver_rollout", f"node/n{n}", 2000.0, version="d1") for n in (1, 2)), *(happens("xid", f"node/n{n}/gpu/0", 2100.0, 79) for n in (1, 2, 7))), "2 failures on 2 nodes that have it, 1 on all others"),
        ("schedule.degraded_kept", "node/n3", of(happens("verdict", "node/n3", 900.0, health="fail"), change(CLOCK, "node/n3/gpu/1", times=0.7), change(STEP, times=4.0)), "it has cost 668 s"),
    ],
)  # fmt: skip
def test_what_a_cause_says_of_itself(quiet: Any, kind: str, cause: str, make: Make, expected: str) -> None:
    make(quiet)
    one = next(found[cause, kind] for seam in ALL if (cause, kind) in (found := quiet.candidates(seam)))
    assert any(expected in words for words in one.reasons), one.reasons


def test_a_limit_that_is_reported_is_the_first_sign(quiet: Any) -> None:
    gpus("gpu_clock_event_reasons", nodes(4, 6), by=4.0)(quiet)
    of(measured("rack_power_limit_watts", {"rack/r2": 40e3}), change("rack_power_limit_watts", times=0.8))(quiet)
    (seam,) = (seam for seam in ALL if seam.name == "power.limit")
    signs = quiet.candidates(seam)["rack/r2", "power.cap"].signs
    assert [sign.signal for sign in signs] == ["rack_power_limit_watts", *["gpu_clock_event_reasons"] * 3]


def test_backwards_a_branch_is_seen_in_its_unit_and_a_unit_in_what_acts_on_it(quiet: Any) -> None:
    of(change(RACK_FLOW, "rack/r2", times=0.5), change(CDU, "cdu/c1", times=0.5))(quiet)
    cooling = [seam for seam in ALL if seam.name in ("cooling.rack", "cooling.flow")]
    found = {key: one for seam in cooling for key, one in quiet.candidates(seam).items()}
    assert found["rack/r2", "cooling.rack_blocked"].backwards == {"flow", "pressure", "pump", "return", "supply"}
    assert found["cdu/c1", "cooling.flow_low"].backwards == {"flow", "pressure", "pump", "return"}


@pytest.mark.parametrize(
    ("why", "subject", "kinds", "reach"),
    [
        ("itself", "node/n99", ("runs_on",), {"node/n99"}),
        ("who uses a port uses its node", "switch/x", ("connects", "runs_on"), {"switch/x", "node/n98/nic/a", "job/b"}),
        ("unless work is not asked for", "switch/x", ("connects",), {"switch/x", "node/n98/nic/a"}),
        (
            "a node brings its parts",
            "switch/y",
            ("connects",),
            {"switch/y", "node/n98", "node/n98/nic/a", "node/n98/gpu/0"},
        ),
        ("paths into a pool wait for it", "pool/p", ("feeds",), {"pool/p", "path/in"}),
        ("what only blocks a pool does not", "pool/q", ("feeds",), {"pool/q"}),
    ],
)
def test_reach(quiet: Any, why: str, subject: str, kinds: tuple[str, ...], reach: set[str]) -> None:
    quiet.link(
        Edge("connects", "switch/x", "node/n98/nic/a"),
        Edge("connects", "switch/y", "node/n98"),
        Edge("runs_on", "node/n98", "job/b"),
        Edge("runs_on", "node/n98/gpu/0", "job/b/rank/0"),
        Edge("feeds", "path/in", "pool/p"),
        Edge("blocks", "path/in", "pool/q"),
    )
    assert quiet.scene.reach(subject, kinds) == reach, why


@pytest.mark.parametrize(("bad", "found"), [((1, 2, 3), True), ((1, 2), False), ((1,), False), ((), False)])
def test_most_links_of_a_switch(quiet: Any, bad: tuple[int, ...], found: bool) -> None:
    links = Links(quiet.scene)
    assert links.most_of("switch/leaf1", dict.fromkeys(f"link/leaf1-spine{n}" for n in bad)) is found
    assert links.most_of("switch/none", {ONE: 1}) is False


@pytest.mark.parametrize(("links", "bad", "found"), [(10, 7, True), (10, 6, False), (2, 2, True), (1, 1, False)])
def test_seven_of_ten_links_are_most(quiet: Any, links: int, bad: int, found: bool) -> None:
    names = [f"link/x{number}" for number in range(links)]
    quiet.link(*(Edge("connects", "switch/x", link) for link in [*names, "link/unmetered1", "link/unmetered2"]))
    quiet.add(BANDWIDTH, dict.fromkeys(names, 4e11))
    assert Links(quiet.scene).most_of("switch/x", dict.fromkeys(names[:bad])) is found


def test_links_know_their_switches(quiet: Any) -> None:
    quiet.link(
        Edge("powers", "switch/leaf1", "link/no"),
        Edge("powers", "link/no", "switch/leaf1"),
        Edge("connects", "switch/x", "switch/leaf1"),
    )
    links = Links(quiet.scene)
    assert links.of_switch["switch/leaf1"] == {f"link/leaf1-spine{n}" for n in (1, 2, 3)}
    assert links.of_switch["switch/spine2"] == {"link/leaf1-spine2", "link/leaf2-spine2"}
    assert set(links.of_switch) == {"switch/leaf1", "switch/leaf2", *(f"switch/spine{n}" for n in (1, 2, 3))}
    assert sorted(links.switches_of[ONE]) == ["switch/leaf1", "switch/spine1"]
    assert links.beside("switch/leaf2") == {f"link/leaf2-spine{n}" for n in (1, 2, 3)}
    assert links.beside("switch/none") == frozenset()
    assert (links.below("switch/leaf1"), links.below("switch/spine1"), links.below("switch/none")) == (
        True,
        False,
        False,
    )


def test_a_known_good_past_is_taken_only_where_it_knows_the_signal(quiet: Any) -> None:
    past = type(quiet.panel)(quiet.times, {"other": quiet.tables[ROOM]})
    quiet.change(ROOM, by=5.0)
    assert set(type(quiet.scene)(quiet.panel, quiet.topology, past).moved(ROOM)) == {"room/h1"}
    assert np.isnan(quiet.scene.recent(ROOM, "room/none"))


@pytest.mark.parametrize(
    ("kind", "cause", "make", "signs"),
    [
        ("power.brake", "node/n5", of(happens("power_brake", "node/n5", 1800.0), gpus(CLOCK, nodes(5, 5), times=0.9)), [("node/n5", "power_brake", 1800.0, 0.0, 1.0)]),
        ("schedule.slow_recovery", JOB, happens("job_failed", JOB, 100.0), [(JOB, "job_down", 100.0, 600.0, 2290.0)]),
        ("schedule.cadence_long", JOB, of(measured(INTERVAL, {JOB: 1200.0}), measured("job_mtbf_seconds", {JOB: 600.0}), happens("job_failed", JOB, 50.0), happens("job_failed", JOB, 70.0)), [(JOB, "job_failed", 70.0, 0.0, 1.0)]),
        ("software.rollout", "software/d1", of(*(happens("driver_rollout", f"node/n{n}", 2000.0, version="d1") for n in (1, 2)), *(happens("xid", f"node/n{n}/gpu/0", 2100.0, 79) for n in (1, 2))), [(f"node/n{n}/gpu/0", "xid", 2100.0, 0.0, 1.0) for n in (1, 2)]),
        ("power.cap", "node/n4", gpus("gpu_clock_event_reasons", nodes(4, 4), by=4.0), [("node/n4/gpu/0", "gpu_clock_event_reasons", 1500.0, 0.0, 4.0)]),
    ],
)  # fmt: skip
def test_the_signs_of_what_no_instrument_measures(
    quiet: Any, kind: str, cause: str, make: Make, signs: list[tuple[str, str, float, float, float]]
) -> None:
    make(quiet)
    one = next(found[cause, kind] for seam in ALL if (cause, kind) in (found := quiet.candidates(seam)))
    assert [(sign.subject, sign.signal, sign.since, sign.before, sign.now) for sign in one.signs] == signs


def test_a_degraded_node_is_shown_with_its_verdict_and_its_parts(quiet: Any) -> None:
    of(happens("verdict", "node/n3", 900.0, health="fail"), change(CLOCK, "node/n3/gpu/1", times=0.7))(quiet)
    change(STEP, times=3.2)(quiet)
    (seam,) = (seam for seam in ALL if seam.name == "schedule.degraded")
    first, second = quiet.candidates(seam)["node/n3", "schedule.degraded_kept"].signs
    assert (first.subject, first.signal, first.before, first.now) == ("node/n3", "verdict", 0.0, 1.0)
    assert (second.subject, second.signal) == ("node/n3/gpu/1", CLOCK)
