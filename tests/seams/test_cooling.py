"""Cooling: who loses heat to whom, and the pairs that look alike."""

from collections.abc import Callable
from typing import Any

import pytest

FLOW, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"


def test_a_unit_without_flow_is_the_root_of_hot_racks_and_a_slow_job(world: Any) -> None:
    world.change(FLOW, "cdu/c1", times=0.5)
    world.change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5)
    world.hot(*(f"node/n{number}" for number in range(1, 7)))
    world.slow_job()
    (finding,) = world.explain()
    assert (finding.cause, finding.kind) == ("cdu/c1", "cooling.flow_low")
    assert finding.confidence > 0.9
    assert abs(finding.since - 1500.0) <= 20
    assert "cdu/c1 > rack/r1 > node/n1 > job/llama" in finding.path
    assert finding.owners == ("facilities", "training")
    assert finding.runbook == "cooling.flow_low"
    assert {rival.kind for rival in finding.rivals} == {"cooling.rack_blocked"}
    assert "node/n1/gpu/0" in finding.victims


def test_a_blocked_rack_and_failing_fans_look_alike_and_are_distinguished(another_world: Callable[[int], Any]) -> None:
    rack, fans = another_world(1), another_world(1)
    nodes = ("node/n4", "node/n5", "node/n6")
    for made in (rack, fans):
        made.hot(*nodes)
        made.slow_job()
    rack.change(RACK_FLOW, "rack/r2", times=0.4)
    rack.change(FLOW, "cdu/c1", times=0.75)
    for node in nodes:
        fans.change("fan_speed_ratio", node, times=0.1)
    assert rack.named() == [("rack/r2", "cooling.rack_blocked")]
    assert sorted(fans.named()) == [(node, "cooling.fan") for node in nodes]
    assert any("flows normally" in words for words in fans.explain()[0].evidence)


@pytest.mark.parametrize("idle", [True, False])
def test_fans_that_slow_because_the_heat_went_do_not_fail(world: Any, idle: bool) -> None:
    gpus = ("node/n4/gpu/0", "node/n4/gpu/1")
    world.change("fan_speed_ratio", "node/n4", times=0.6)
    assert world.named() == [("node/n4", "cooling.fan")]
    world.change("gpu_temperature_celsius", *gpus, by=-12.0)
    if idle:
        world.change("gpu_power_watts", *gpus, times=0.15)
        world.change("gpu_utilization_ratio", *gpus, times=0.0)
    assert world.named() == []


def test_a_hot_rack_whose_flow_no_one_measures_is_inferred_with_less_confidence(world: Any) -> None:
    del world.tables[RACK_FLOW]
    world.hot("node/n4", "node/n5", "node/n6")
    world.slow_job()
    finding = world.explain()[0]
    assert (finding.cause, finding.kind) == ("rack/r2", "cooling.rack_blocked")
    assert 0.6 <= finding.confidence < 0.8
    assert any("not measured" in words for words in finding.unknown)


def test_a_warm_hall_warms_everything_and_is_one_finding(world: Any) -> None:
    world.change("ambient_celsius", by=12.0)
    world.change("node_inlet_celsius", by=12.0)
    world.change("cdu_supply_celsius", by=6.0)
    world.change("rack_inlet_celsius", by=6.0)
    world.hot(*(f"node/n{number}" for number in range(1, 13)))
    assert world.named() == [("room/h1", "cooling.ambient")]


def test_warm_supply_in_a_cool_hall_is_the_unit(world: Any) -> None:
    world.change("cdu_supply_celsius", "cdu/c2", by=10.0)
    world.change("rack_inlet_celsius", "rack/r3", "rack/r4", by=10.0)
    world.hot(*(f"node/n{number}" for number in range(7, 13)))
    assert world.named() == [("cdu/c2", "cooling.supply_warm")]


def test_a_pump_that_hunts_is_no_loss_of_flow(world: Any) -> None:
    for signal in (FLOW, "cdu_pump_speed_ratio"):
        row = world.tables[signal].values[0]
        row[150:] *= [1.4 if (column // 6) % 2 else 0.6 for column in range(90)]
    assert world.named() == [("cdu/c1", "cooling.pump_oscillation")]


def test_a_harder_job_is_no_cooling_fault(world: Any) -> None:
    world.change("gpu_power_watts", times=1.3)
    world.change("gpu_temperature_celsius", by=9.0)
    assert world.named() == []


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_found_where_nothing_is_wrong(another_world: Callable[[int], Any], seed: int) -> None:
    assert another_world(seed).named() == []
