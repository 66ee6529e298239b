"""The plant: the same luck whatever goes wrong, and every kind does to the signals what its name says."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from holdfast.lab.twin.plant.fault import Distractor, PlantFault, kinds
from holdfast.lab.twin.plant.layout import JobSpec, Layout, PlantLayout, Serving
from holdfast.lab.twin.plant.plant import Plant
from holdfast.lab.twin.plant.signals import OF, subjects
from holdfast.lab.twin.plant.truth import first_visible, without
from holdfast.model.panel import Panel
from tests.counts import draws

START, LASTS = 400.0, 1500.0
LAYOUT = Layout(
    PlantLayout(nodes=16, nodes_per_rack=4, racks_per_cdu=2, nodes_per_leaf=4),
    (
        JobSpec(name="a", nodes=tuple(range(8)), checkpoint_interval=100.0, mtbf=300.0, restart_seconds=30.0),
        JobSpec(name="b", nodes=(8, 9), checkpoint_interval=100.0),
    ),
    Serving(source="prefill", source_nodes=(10, 11), targets=(("decode1", (12, 13)), ("decode2", (14, 15)))),
)
CALM = Plant(LAYOUT, seed=5).panel(LASTS)
STRUCK = {
    "cdu": "cdu/c1", "rack": "rack/r1", "room": "room/hall1", "node": "node/n002", "feed": "feed/a", "psu": "psu/r1-a",
    "link": "link/leaf1-spine2", "leaf": "switch/leaf1", "rail": "switch/rail3", "path": "path/prefill-decode1",
    "storage": "storage/lustre1", "job": "job/a", "software": "software/driver-9", "gpu": "node/n002/gpu/1",
    "rank": "job/a/rank/9", "domain": "cdu",
}  # fmt: skip
# kind -> signal, subject, and whether it must rise (1) or fall (-1) by clearly more than noise
DOES = {
    "cooling.flow_low": [("cdu_flow_litres_per_minute", "cdu/c1", -1),
                         ("gpu_temperature_celsius", "node/n001/gpu/0", 1)],
    "cooling.supply_warm": [("cdu_supply_celsius", "cdu/c1", 1), ("rack_inlet_celsius", "rack/r1", 1)],
    "cooling.rack_blocked": [("rack_flow_litres_per_minute", "rack/r1", -1),
                             ("rack_flow_litres_per_minute", "rack/r2", 1),
                             ("gpu_temperature_celsius", "node/n001/gpu/0", 1)],
    "cooling.ambient": [("ambient_celsius", "room/hall1", 1), ("node_inlet_celsius", "node/n009", 1),
                        ("cdu_supply_celsius", "cdu/c2", 1)],
    "cooling.fan": [("fan_speed_ratio", "node/n002", -1), ("gpu_temperature_celsius", "node/n002/gpu/7", 1)],
    "power.feed_lost": [("feed_voltage_volts", "feed/a", -1), ("gpu_clock_sm_hertz", "node/n001/gpu/0", -1),
                        ("gpu_temperature_celsius", "node/n001/gpu/0", -1)],
    "power.psu": [("psu_healthy", "psu/r1-a", -1), ("gpu_clock_sm_hertz", "node/n001/gpu/0", -1)],
    "power.cap": [("rack_power_limit_watts", "rack/r1", -1), ("gpu_power_watts", "node/n001/gpu/0", -1)],
    "power.brake": [("gpu_clock_sm_hertz", "node/n002/gpu/0", -1), ("gpu_clock_event_reasons", "node/n002/gpu/0", 1)],
    "fabric.uplink": [("link_bandwidth_bytes_per_second", "link/leaf1-spine2", -1),
                      ("link_errors_per_second", "link/leaf1-spine2", 1), ("job_collective_seconds", "job/a", 1)],
    "fabric.leaf": [("port_xmit_wait_ratio", "node/n001/nic/mlx5_0/1", 1), ("job_collective_seconds", "job/a", 1)],
    "fabric.rail": [("port_xmit_wait_ratio", "node/n009/nic/mlx5_3/1", 1), ("job_collective_seconds", "job/b", 1)],
    "fabric.congestion": [("link_utilization_ratio", "link/leaf1-spine2", 1), ("job_collective_seconds", "job/a", 1)],
    "fabric.routing": [("link_utilization_ratio", "link/leaf1-spine1", 1),
                       ("link_utilization_ratio", "link/leaf1-spine3", -1), ("job_collective_seconds", "job/a", 1)],
    "pools.path": [("pool_transfer_seconds", "path/prefill-decode1", 1),
                   ("pool_stall_ratio", "path/prefill-decode1", 1)],
    "pools.imbalance": [("pool_routing_share", "path/prefill-decode1", 1),
                        ("pool_routing_share", "path/prefill-decode2", -1)],
    "storage.write_slow": [("storage_latency_seconds", "storage/lustre1", 1), ("job_checkpoint_seconds", "job/b", 1)],
    "storage.metadata": [("storage_metadata_seconds", "storage/lustre1", 1), ("job_checkpoint_seconds", "job/b", 1)],
    "storage.one_writer": [("rank_checkpoint_seconds", "job/a/rank/8", 1), ("job_checkpoint_seconds", "job/a", 1)],
    "schedule.cadence_long": [("job_checkpoint_interval_seconds", "job/a", 1)],
    "schedule.cadence_short": [("job_checkpoint_interval_seconds", "job/a", -1)],
    "gpu.slow": [("gpu_clock_sm_hertz", "node/n002/gpu/1", -1), ("job_throughput_ratio", "job/a", -1)],
    "schedule.degraded_kept": [("gpu_clock_sm_hertz", "node/n002/gpu/0", -1), ("job_throughput_ratio", "job/a", -1)],
    "job.rank_slow": [("rank_compute_seconds", "job/a/rank/9", 1), ("gpu_utilization_ratio", "node/n002/gpu/1", -1)],
    "sensor.drift": [("cdu_flow_litres_per_minute", "cdu/c1", 1)],
}  # fmt: skip


def struck(kind: str, **changes: object) -> PlantFault:
    known = kinds()[kind]
    usual: dict[str, object] = {
        "kind": kind, "subject": STRUCK[known.on[0]], "start": START, "magnitude": known.typical,
        "signal": "cdu_flow_litres_per_minute" if kind.startswith("sensor.") else "", "nodes": (0, 1, 2),
    }  # fmt: skip
    return PlantFault(**{**usual, **changes})  # type: ignore[arg-type]


@cache
def panel_with(kind: str) -> Panel:
    return Plant(LAYOUT, (struck(kind),), seed=5).panel(LASTS)


def tail(panel: Panel, signal: str, subject: str) -> float:
    row = panel.row(signal, subject)
    assert row is not None
    return float(np.nanmean(row[-60:]))


@pytest.mark.parametrize("kind", sorted(kinds())[:: draws(4, 1)])
def test_a_fault_moves_what_its_name_says_from_its_start_on(kind: str) -> None:
    fault, panel = struck(kind), panel_with(kind)
    before = panel.times < START
    for signal, table in panel.tables.items():
        np.testing.assert_array_equal(table.values[:, before], CALM.of(signal).values[:, before], signal)
    for signal, subject, way in DOES.get(kind, []):
        change = tail(panel, signal, subject) - tail(CALM, signal, subject)
        assert way * change > 0.01 * abs(tail(CALM, signal, subject)), (signal, subject, change)
    calm = CALM
    if kind == "schedule.slow_recovery":
        calm = without(Plant(LAYOUT, (fault,), seed=5), fault).panel(LASTS)
    seen = first_visible(fault, panel, calm)
    assert seen is not None
    assert seen >= START


def test_heat_throttles_and_the_whole_job_goes_at_the_pace_of_the_hottest() -> None:
    layout = replace(LAYOUT, jobs=(JobSpec(name="a", nodes=tuple(range(16))),), serving=None)
    panel = Plant(layout, (struck("cooling.rack_blocked", magnitude=0.8),), seed=5).panel(LASTS)
    assert tail(panel, "gpu_clock_sm_hertz", "node/n001/gpu/0") < 0.9 * 1.98e9
    assert tail(panel, "gpu_clock_sm_hertz", "node/n016/gpu/0") > 0.97 * 1.98e9
    assert tail(panel, "job_throughput_ratio", "job/a") < 0.95
    assert tail(panel, "gpu_temperature_celsius", "node/n001/gpu/0") < 90.0
    assert tail(panel, "rank_wait_seconds", "job/a/rank/127") > 0.3


def test_the_same_seed_reports_the_same_history_and_another_another() -> None:
    again = Plant(LAYOUT, seed=5).panel(LASTS)
    other = Plant(LAYOUT, seed=6).panel(LASTS)
    for signal, table in again.tables.items():
        np.testing.assert_array_equal(table.values, CALM.of(signal).values)
    assert again.events == CALM.events
    assert not np.array_equal(
        other.of("gpu_temperature_celsius").values, CALM.of("gpu_temperature_celsius").values, equal_nan=True
    )


def test_what_is_reported_is_what_was_promised() -> None:
    assert set(CALM.tables) == {signal for signals in OF.values() for signal in signals}
    assert {name: table.subjects for name, table in CALM.tables.items()} == subjects(LAYOUT)
    assert set(DOES) | {"cooling.pump_oscillation", "schedule.slow_recovery", "software.rollout", "sensor.stuck",
                        "sensor.absurd", "sensor.lost", "sensor.clock"} == set(kinds())  # fmt: skip


def test_every_subject_of_a_signal_is_in_the_topology_or_part_of_one() -> None:
    known = LAYOUT.topology.subjects
    for who in subjects(LAYOUT).values():
        assert all("/".join(subject.split("/")[:2]) in known for subject in who)


def test_a_pump_that_hunts_swings_and_keeps_its_mean() -> None:
    panel = panel_with("cooling.pump_oscillation")
    flow = panel.row("cdu_flow_litres_per_minute", "cdu/c1")
    assert flow is not None
    after = flow[panel.times >= START]
    assert after.std() > 0.2 * after.mean()


@pytest.mark.parametrize(("kind", "holds"), [
    ("sensor.stuck", lambda row: len(set(row)) == 1),
    ("sensor.lost", lambda row: np.isnan(row).all()),
    ("sensor.absurd", lambda row: set(row) == {-999.0, 65535.0}),
])  # fmt: skip
def test_sensors_lie_in_one_row_only(kind: str, holds: object) -> None:
    panel = panel_with(kind)
    row = panel.row("cdu_flow_litres_per_minute", "cdu/c1")
    assert row is not None
    assert holds(row[panel.times >= START])  # type: ignore[operator]
    np.testing.assert_array_equal(
        panel.row("cdu_flow_litres_per_minute", "cdu/c2"), CALM.row("cdu_flow_litres_per_minute", "cdu/c2")
    )


def test_a_late_clock_empties_the_present_of_its_domain_alone() -> None:
    late = panel_with("sensor.clock")
    for signal, table in late.tables.items():
        silent = np.isnan(table.values[:, late.times >= START]).all()
        assert silent == signal.startswith("cdu_"), signal


def test_a_rollout_fails_its_cohort_only() -> None:
    fault = struck("software.rollout", magnitude=40.0)
    panel = Plant(LAYOUT, (fault,), seed=5).panel(LASTS)
    result = {event.subject for event in panel.events_of("driver_rollout")}
    assert result == {"node/n001", "node/n002", "node/n003"}
    broken = {event.subject.rpartition("/gpu/")[0] for event in panel.events_of("xid")}
    assert broken
    assert broken <= result


def test_a_job_comes_back_with_what_it_lost_and_slow_recovery_takes_longer() -> None:
    usual = [event.detail["recovery_seconds"] for event in CALM.events_of("job_restarted")]
    assert usual
    assert max(map(float, usual)) <= 50.0
    panel = Plant(LAYOUT, (struck("schedule.slow_recovery", magnitude=8.0),), seed=5).panel(LASTS)
    assert max(float(event.detail["recovery_seconds"]) for event in panel.events_of("job_restarted")) > 150.0


def test_distractors_are_events_or_pass_by() -> None:
    harmless = (
        Distractor(kind="route_change", subject="switch/leaf1", start=100.0),
        Distractor(kind="xid", subject="node/n001/gpu/0", start=120.0),
        Distractor(kind="sensor_gap", subject="cdu/c1", start=300.0, seconds=60.0, signal="cdu_supply_celsius"),
    )
    panel = Plant(LAYOUT, (), harmless, seed=5).panel(900.0)
    assert {event.kind for event in panel.events} >= {"route_change", "xid"}
    row = panel.row("cdu_supply_celsius", "cdu/c1")
    assert row is not None
    assert int(np.isnan(row).sum()) == 6


def test_a_lead_is_a_calm_past_in_which_jobs_already_run() -> None:
    panel = Plant(LAYOUT, (struck("cooling.flow_low", start=0.0),), seed=5).panel(300.0, lead=200.0)
    assert panel.times[0] == -200.0
    steps = panel.row("job_step_seconds", "job/b")
    flow = panel.row("cdu_flow_litres_per_minute", "cdu/c1")
    assert steps is not None
    assert flow is not None
    assert not np.isnan(steps[:5]).any()
    assert flow[panel.times < 0].min() > 1.5 * flow[panel.times >= 0].max()


def test_a_fault_that_ends_heals() -> None:
    panel = Plant(LAYOUT, (struck("cooling.flow_low", end=700.0),), seed=5).panel(LASTS)
    assert abs(tail(panel, "gpu_temperature_celsius", "node/n001/gpu/0")
               - tail(CALM, "gpu_temperature_celsius", "node/n001/gpu/0")) < 1.0  # fmt: skip
