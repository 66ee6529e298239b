"""Several at once, overlapping and late: each is named, and none of them hides another."""

from typing import Any

import numpy as np

from holdfast.model.signal import Event

FLOW, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
PRESSURE = "cdu_differential_pressure_pascals"
COMPUTE = "rank_compute_seconds"


def _slow_gpu(world: Any, gpu: str, rank: int, at: int) -> None:
    world.change("gpu_clock_sm_hertz", gpu, times=0.7, at=at)
    world.change(COMPUTE, f"job/llama/rank/{rank}", times=1.4, at=at)
    world.slow_job(at=at)


def test_what_comes_second_is_not_blamed_for_what_the_first_did_already(world: Any) -> None:
    _slow_gpu(world, "node/n12/gpu/1", 23, at=150)
    world.change("storage_metadata_seconds", times=20.0, at=200)
    assert set(world.named()) == {("node/n12/gpu/1", "gpu.slow"), ("storage/s1", "storage.metadata")}


def test_a_brake_is_not_the_heat_of_its_room(world: Any) -> None:
    world.change("ambient_celsius", by=12.0, at=120)
    world.change("node_inlet_celsius", by=12.0, at=120)
    world.hot(*(f"node/n{n}" for n in range(1, 13)), at=130)
    gpus = ["node/n5/gpu/0", "node/n5/gpu/1"]
    world.change("gpu_clock_event_reasons", *gpus, by=128.0, at=180)
    world.change("gpu_clock_sm_hertz", *gpus, times=0.5, at=180)
    world.slow_job(at=180)
    assert set(world.named()) == {("room/h1", "cooling.ambient"), ("node/n5", "power.brake")}


def test_a_slow_rank_is_seen_beside_a_rack_that_is_held_back(world: Any) -> None:
    gpus = [f"node/n{node}/gpu/{index}" for node in (1, 2, 3) for index in range(2)]
    world.change("gpu_clock_event_reasons", *gpus, by=4.0)
    world.change("gpu_clock_sm_hertz", *gpus, times=0.7)
    world.change(COMPUTE, *(f"job/llama/rank/{rank}" for rank in range(6)), times=1.3)
    world.change(COMPUTE, "job/llama/rank/20", times=1.6)
    world.slow_job()
    assert set(world.named()) == {("rack/r1", "power.cap"), ("job/llama/rank/20", "job.rank_slow")}


def test_pressure_reports_a_shut_branch_from_a_tired_pump(world: Any) -> None:
    for rack in ("rack/r1", "rack/r2"):
        world.change(RACK_FLOW, rack, times=0.5)
    world.change(FLOW, "cdu/c1", times=0.5)
    world.change(PRESSURE, "cdu/c1", times=0.3)
    world.hot(*(f"node/n{n}" for n in range(1, 7)))
    assert world.named() == [("cdu/c1", "cooling.flow_low")]


def test_a_branch_is_shut_where_pressure_rises_though_its_unit_has_no_other(another_world: Any) -> None:
    world = another_world(2)
    world.topology = type(world.topology)(
        tuple(edge for edge in world.topology.edges if (edge.source, edge.target) != ("cdu/c1", "rack/r2"))
    )
    world.change(RACK_FLOW, "rack/r1", times=0.4)
    world.change(FLOW, "cdu/c1", times=0.5)
    world.change(PRESSURE, "cdu/c1", times=1.6)
    world.hot("node/n1", "node/n2", "node/n3")
    assert world.named() == [("rack/r1", "cooling.rack_blocked")]


def test_a_job_that_came_later_has_its_own_beginning(world: Any) -> None:
    """It is compared with its first minutes, and that it began is no move of anybody."""
    for signal in ("job_step_seconds", "job_throughput_ratio", "job_collective_seconds", COMPUTE):
        world.tables[signal].values[:, :60] = np.nan
    assert world.named() == []
    world.change(COMPUTE, "job/llama/rank/7", times=1.5, at=190)
    world.slow_job(at=190)
    assert world.named() == [("job/llama/rank/7", "job.rank_slow")]


def test_what_all_ranks_do_is_no_slow_rank(world: Any) -> None:
    ranks = world.tables[COMPUTE].subjects
    world.change(COMPUTE, *ranks, times=1.035)  # below what is worth a word, for most
    world.change(COMPUTE, ranks[3], times=1.01)
    assert world.named() == []


def test_failures_of_one_node_do_not_blame_the_version_it_has(world: Any) -> None:
    world.events += [Event(kind="driver_rollout", at=100.0, text="", subject="node/n1", detail={"version": "d1"})]
    for at in (1700.0, 1900.0, 2100.0):
        world.events.append(Event(kind="xid", at=at, text="", subject="node/n1/gpu/0", code=79))
    assert world.named() == []


def test_a_fan_fails_in_a_rack_that_is_hot_already(world: Any) -> None:
    for rack in ("rack/r1", "rack/r2"):
        world.change(RACK_FLOW, rack, times=0.5)
    world.change(FLOW, "cdu/c1", times=0.5)
    world.change(PRESSURE, "cdu/c1", times=0.3)
    world.hot(*(f"node/n{n}" for n in range(1, 7)))
    world.change("fan_speed_ratio", "node/n2", times=0.2, at=190)
    assert set(world.named()) == {("cdu/c1", "cooling.flow_low"), ("node/n2", "cooling.fan")}


def _everything(world: Any) -> None:
    world.change(FLOW, "cdu/c1", times=0.5)
    world.change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5)
    world.hot(*(f"node/n{n}" for n in range(1, 7)))
    world.slow_job()
    world.change("psu_healthy", "psu/r4-b", times=0.0, at=120)
    world.change("gpu_clock_event_reasons", "node/n12/gpu/0", "node/n12/gpu/1", by=128.0, at=200)
    world.tables["feed_voltage_volts"].values[1, 150:] = np.nan
    world.tables["ambient_celsius"].values[0, 150:] = world.tables["ambient_celsius"].values[0, 150]
    row = world.tables["cdu_pump_speed_ratio"].values[1]
    row[200:] *= [1.4 if (column // 6) % 2 else 0.6 for column in range(40)]


def test_the_hour_of_the_day_changes_nothing(world: Any) -> None:
    _everything(world)
    before = world.explain()
    assert len(before) >= 4
    world.times = world.times + 1_000_000.0
    after = world.explain()
    assert [(one.cause, one.kind, one.raw, one.since + 1_000_000.0) for one in before] == [
        (one.cause, one.kind, one.raw, one.since) for one in after
    ]


def test_fans_that_rest_with_their_gpus_have_not_failed(world: Any) -> None:
    gpus = ["node/n5/gpu/0", "node/n5/gpu/1"]
    world.change("gpu_utilization_ratio", *gpus, times=0.0)
    world.change("gpu_power_watts", *gpus, times=0.15)
    world.change("gpu_temperature_celsius", *gpus, by=-25.0)
    world.change("fan_speed_ratio", "node/n5", times=0.4)
    assert world.named() == []
