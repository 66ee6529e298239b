"""Shares that are exactly met, and conditions each of which is needed: one row on each side."""

from typing import Any

import numpy as np
import pytest

from holdfast.catalog.seam_confidence import calibrated
from holdfast.model.panel import SignalTable
from holdfast.model.topology import Edge
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.device_slow import SEAM as DEVICE
from holdfast.seams.rules.fabric_rail import SEAM as RAIL
from holdfast.seams.rules.pools_path import SEAM as POOLS
from holdfast.seams.rules.sensor_broken import SEAM as BROKEN
from tests.seams.making import START, Make, change, gpus, hot, linked, measured, nodes, of, without

CDU, RACK_FLOW, PRESSURE = (
    "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute", "cdu_differential_pressure_pascals",
)  # fmt: skip
HEAT, COMPUTE, STEP = "gpu_temperature_celsius", "rank_compute_seconds", "job_step_seconds"
WAIT = "port_xmit_wait_ratio"


def _alone(world: Any) -> None:
    """No other rack hangs on its unit."""
    world.unlink("cdu/c1", "rack/r1")


LESS = of(change(RACK_FLOW, "rack/r2", times=0.9), gpus(HEAT, nodes(4, 6), by=1.2))


@pytest.mark.parametrize(
    ("why", "make", "most"),
    [
        ("the rack beside it is well", LESS, 4.0),
        ("the rack beside it lost flow too", of(LESS, change(RACK_FLOW, "rack/r1", times=0.9)), 0.0),
        ("the rack beside it lost flow too, if far less", of(LESS, change(RACK_FLOW, "rack/r2", times=0.6), change(RACK_FLOW, "rack/r1", times=0.93)), 0.0),
        ("the rack beside it lost a little", of(LESS, change(RACK_FLOW, "rack/r2", times=0.6), change(RACK_FLOW, "rack/r1", times=0.97)), 4.0),
        ("one of three beside it lost flow too", of(LESS, linked(Edge("cools", "cdu/c1", "rack/r3"), Edge("cools", "cdu/c1", "rack/r4")), change(RACK_FLOW, "rack/r1", times=0.9)), 4.0),
        ("that too, and the pressure rose", of(LESS, change(RACK_FLOW, "rack/r1", times=0.9), change(PRESSURE, "cdu/c1", times=1.2)), 4.0),
        ("nothing but its meter shows it", of(_alone, LESS), 0.0),
        ("the pressure of its unit rose", of(_alone, LESS, change(PRESSURE, "cdu/c1", times=1.2)), 4.0),
        ("the pressure of another unit rose", of(_alone, LESS, change(PRESSURE, "cdu/c2", times=1.2)), 0.0),
        ("two of its three nodes got hot soon after", of(_alone, LESS, hot(nodes(4, 5), at=160)), 4.0),
        ("one of its three nodes is too few", of(_alone, LESS, hot(nodes(4, 4), at=160)), 0.0),
    ],
)  # fmt: skip
def test_what_confirms_the_meter_of_a_rack(quiet: Any, why: str, make: Make, most: float) -> None:
    make(quiet)
    found = quiet.candidates(RACK)["rack/r2", "cooling.rack_blocked"]
    assert found.most == most, why
    assert any("nothing but its flow meter" in words for words in found.unknown) is (most == 0.0), why


@pytest.mark.parametrize(("by", "found"), [(0.375, True), (0.37, False)])
def test_three_hundredths_of_a_step_hold_up_the_others(quiet: Any, by: float, found: bool) -> None:
    quiet.tables[STEP].values[:] = 12.5
    change(COMPUTE, "job/llama/rank/5", by=by)(quiet)
    assert bool(quiet.candidates(DEVICE)) is found


def _ports(world: Any, mine: int, hit: int, elsewhere: int, bad: int) -> None:
    ports = [f"node/n{n}/nic/mlx5_0" for n in range(1, mine + 1)]
    others = [f"node/n{n}/nic/mlx5_1" for n in range(1, elsewhere + 1)]
    world.add(WAIT, dict.fromkeys([*ports, *others], 0.01))
    world.link(*(Edge("connects", "switch/rail0", port) for port in ports))
    world.change(WAIT, *ports[:hit], *others[:bad], by=0.05)


@pytest.mark.parametrize(
    ("mine", "hit", "elsewhere", "bad", "score"),
    [
        (5, 3, 10, 0, 3 + 1.5),
        (5, 2, 10, 0, None),
        (5, 3, 10, 3, 3 + 1.5),  # three in ten elsewhere are few
        (5, 3, 10, 4, 3 - 2),
        (5, 3, 11, 4, 3 - 2),
        (5, 3, 0, 0, 3),
        (2, 2, 0, 0, 3),
        (1, 1, 0, 0, None),  # one port is no rail
    ],
)
def test_most_ports_of_a_rail_and_few_elsewhere(
    quiet: Any, mine: int, hit: int, elsewhere: int, bad: int, score: float | None
) -> None:
    _ports(quiet, mine, hit, elsewhere, bad)
    found = quiet.candidates(RAIL).get(("switch/rail0", "fabric.rail"))
    assert (None if found is None else found.score) == (None if score is None else START + score)
    assert found is None or found.proven


@pytest.mark.parametrize(("count", "named"), [(8, 8), (9, 8)])
def test_eight_broken_readings_of_a_device_are_named(quiet: Any, count: int, named: int) -> None:
    gpus_of = [f"node/n1/gpu/{number}" for number in range(12)]
    quiet.add(HEAT, dict.fromkeys(gpus_of, 62.0))
    quiet.tables[HEAT].values[:] += np.random.default_rng(1).normal(0, 0.4, (12, len(quiet.times))).astype(np.float32)
    change(HEAT, *gpus_of[:count], by=900.0)(quiet)
    found = quiet.candidates(BROKEN)["node/n1", "sensor.absurd"]
    assert (len(found.signs), len(found.unknown), found.reasons[0].count("; ") + 1) == (count, named, named)


def test_how_many_are_hot_is_said(quiet: Any) -> None:
    of(change(CDU, "cdu/c1", times=0.5), hot(nodes(1, 2)))(quiet)
    said = quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].reasons
    assert "GPUs are hotter in 2 of 6 working nodes that it cools" in said


@pytest.mark.parametrize(("busier", "hot"), [(0.125, False), (0.09375, True), (0.0, True)])
def test_without_power_a_tenth_more_work_explains_heat(quiet: Any, busier: float, hot: bool) -> None:
    quiet.tables["gpu_utilization_ratio"].values[:] = 0.5
    of(without("gpu_power_watts"), gpus(HEAT, nodes(1, 1), by=5.0))(quiet)
    gpus("gpu_utilization_ratio", nodes(1, 1), by=busier)(quiet)
    assert ("node/n1" in quiet.scene.hot) is hot


@pytest.mark.parametrize(("columns", "told"), [(6, True), (5, False)])
def test_a_reason_needs_a_beginning_and_a_last_minute(quiet: Any, columns: int, told: bool) -> None:
    """Four columns are the least beginning, two the least that is recent."""
    quiet.times = np.arange(columns) * 150.0
    reasons = "gpu_clock_event_reasons"
    for name, table in list(quiet.tables.items()):
        quiet.tables[name] = SignalTable(table.subjects, table.values[:, :columns].copy())
    quiet.tables[reasons].values[0, -2:] = 4.0
    assert bool(quiet.scene.reasons(4)) is told


@pytest.mark.parametrize(("times", "doubted"), [(1.12, True), (1.1, False), (1.0, False)])
def test_more_requests_explain_a_slower_path(quiet: Any, times: float, doubted: bool) -> None:
    path = "path/prefill-decode"
    of(change("pool_transfer_seconds", path, times=1.3), measured("request_rate_per_second", {path: 100.0}))(quiet)
    change("request_rate_per_second", times=times)(quiet)
    said = quiet.candidates(POOLS)[path, "pools.path"].doubts
    assert any("times as many requests" in words for words in said) is doubted


def test_confidence_is_said_to_a_thousandth(quiet: Any) -> None:
    of(change(CDU, "cdu/c1", times=0.5), change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5), hot(nodes(1, 6)))(quiet)
    (one,) = quiet.explain()
    assert one.confidence == 0.977 == round(calibrated(one.raw), 3) != calibrated(one.raw)
