"""Power and fabric: what is lost, what is held back, what is crowded."""

from typing import Any

from holdfast.model.signal import Event

BANDWIDTH, CONGESTION, USE = "link_bandwidth_bytes_per_second", "link_congestion_ratio", "link_utilization_ratio"


def _held(world: Any, reason: float, *nodes: str) -> None:
    gpus = [gpu for gpu in world.tables["gpu_clock_sm_hertz"].subjects if gpu.rpartition("/gpu/")[0] in nodes]
    world.change("gpu_clock_event_reasons", *gpus, by=reason)
    world.change("gpu_clock_sm_hertz", *gpus, times=0.7)
    world.change("gpu_power_watts", *gpus, times=0.6)
    world.change("gpu_temperature_celsius", *gpus, by=-6.0)


def test_a_lost_feed_explains_its_supplies_and_what_they_hold_back(world: Any) -> None:
    world.change("feed_voltage_volts", "feed/a", times=0.0)
    world.change("psu_healthy", *(f"psu/r{n}-a" for n in range(1, 5)), times=0.0)
    _held(world, 4.0, *(f"node/n{n}" for n in range(1, 13)))
    world.slow_job()
    (finding,) = world.explain()
    assert (finding.cause, finding.kind) == ("feed/a", "power.feed_lost")


def test_a_lost_supply_is_found_before_anybody_suffers(world: Any) -> None:
    world.change("psu_healthy", "psu/r2-b", times=0.0)
    assert world.named() == [("psu/r2-b", "power.psu")]


def test_a_cap_is_the_rack_whose_nodes_are_all_held(world: Any) -> None:
    _held(world, 4.0, "node/n4", "node/n5", "node/n6")
    world.slow_job()
    assert world.named() == [("rack/r2", "power.cap")]


def test_a_brake_on_one_node_is_the_node(world: Any) -> None:
    _held(world, 128.0, "node/n5")
    world.events.append(Event(kind="power_brake", at=1510.0, text="brake", subject="node/n5"))
    assert world.named() == [("node/n5", "power.brake")]


def test_one_bad_uplink(world: Any) -> None:
    world.change(BANDWIDTH, "link/leaf1-spine2", times=0.4)
    world.change("link_errors_per_second", "link/leaf1-spine2", by=80.0)
    world.change(CONGESTION, "link/leaf1-spine1", "link/leaf1-spine2", by=0.3)
    world.change("job_collective_seconds", times=2.0)
    world.slow_job()
    (finding,) = world.explain()
    assert (finding.cause, finding.kind) == ("link/leaf1-spine2", "fabric.uplink")
    assert any(line.startswith("link/leaf1-spine2 > switch/leaf1 > ") for line in finding.path)


def test_all_uplinks_of_a_leaf_are_the_leaf(world: Any) -> None:
    world.change(BANDWIDTH, *(f"link/leaf2-spine{n}" for n in (1, 2, 3)), times=0.4)
    world.change("job_collective_seconds", times=2.0)
    assert world.named() == [("switch/leaf2", "fabric.leaf")]


def test_all_links_of_a_spine_are_the_spine(world: Any) -> None:
    world.change(BANDWIDTH, "link/leaf1-spine3", "link/leaf2-spine3", times=0.4)
    assert world.named() == [("switch/spine3", "fabric.spine")]


def test_a_congested_uplink_and_a_slow_rank_slow_the_same_job_and_are_distinguished(
    world: Any, another_world: Any
) -> None:
    world.change(CONGESTION, "link/leaf1-spine2", by=0.5)
    world.change(USE, "link/leaf1-spine2", by=0.35)
    world.change("job_collective_seconds", times=2.0)
    world.slow_job()
    assert world.named() == [("link/leaf1-spine2", "fabric.congestion")]
    slow = another_world(2)
    slow.change("rank_compute_seconds", "job/llama/rank/7", times=1.25)
    slow.slow_job()
    (finding,) = slow.explain()
    assert (finding.cause, finding.kind) == ("job/llama/rank/7", "job.rank_slow")
    assert any("clock and temperature of its GPU are normal" in words for words in finding.evidence)


def test_traffic_that_moved_to_one_uplink_is_routing(world: Any) -> None:
    world.change(CONGESTION, "link/leaf1-spine1", by=0.5)
    world.change(USE, "link/leaf1-spine1", by=0.4)
    world.change(USE, "link/leaf1-spine2", "link/leaf1-spine3", times=0.6)
    world.events.append(Event(kind="route_change", at=1490.0, text="routes", subject="switch/leaf1"))
    world.change("job_collective_seconds", times=1.8)
    assert world.named() == [("switch/leaf1", "fabric.routing")]


def test_a_slow_gpu_beside_well_ones(world: Any) -> None:
    world.change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7)
    world.change("rank_compute_seconds", "job/llama/rank/5", times=1.3)
    world.slow_job()
    assert world.named() == [("node/n3/gpu/1", "gpu.slow")]


def test_a_job_that_ended_blames_no_node(world: Any) -> None:
    world.change("gpu_utilization_ratio", times=0.0)
    world.change("gpu_clock_sm_hertz", times=0.2)
    world.change("gpu_power_watts", times=0.15)
    world.change("gpu_temperature_celsius", by=-30.0)
    assert world.named() == []


def test_a_path_between_pools_stalls_while_every_device_is_well(world: Any) -> None:
    world.change("pool_transfer_seconds", times=3.0)
    assert world.named() == [("path/prefill-decode", "pools.path")]


def test_slow_metadata_is_storage(world: Any) -> None:
    world.change("storage_metadata_seconds", by=0.5)
    assert world.named() == [("storage/s1", "storage.metadata")]


def test_somebody_elses_reads_are_no_finding(world: Any) -> None:
    world.change("storage_latency_seconds", times=2.0)
    assert world.named() == []


def test_two_troubles_of_one_job_are_two_findings(world: Any) -> None:
    """The second began when the job was slow already: what was there before it does not speak against it."""
    world.change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7, at=120)
    world.change("rank_compute_seconds", "job/llama/rank/5", times=1.3, at=120)
    world.slow_job(at=120)
    world.change("storage_metadata_seconds", by=0.5, at=180)
    assert set(world.named()) == {("node/n3/gpu/1", "gpu.slow"), ("storage/s1", "storage.metadata")}
