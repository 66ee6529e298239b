"""Bad input: sensors that read wrong, domains that fall silent, clocks apart, holes."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Topology
from holdfast.seams import explain

FLOW, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"


def test_a_stuck_sensor_is_a_finding_and_moves_no_one(world: Any) -> None:
    world.tables[FLOW].values[0, 150:] = world.tables[FLOW].values[0, 150]
    (finding,) = world.explain()
    assert (finding.cause, finding.kind) == ("cdu/c1", "sensor.stuck")
    assert finding.unknown


def test_a_sensor_of_whole_degrees_may_rest(world: Any) -> None:
    heat = world.tables["gpu_temperature_celsius"].values
    heat[:] = 62.0
    heat[:, ::40] = 63.0
    assert world.named() == []


def test_what_cannot_be_is_absurd_and_no_cause(world: Any) -> None:
    world.tables[RACK_FLOW].values[1, 150:] = -999.0
    assert world.named() == [("rack/r2", "sensor.absurd")]


def test_a_sensor_that_vanished(world: Any) -> None:
    world.tables[RACK_FLOW].values[1, 150:] = np.nan
    assert world.named() == [("rack/r2", "sensor.lost")]


def test_a_short_gap_is_no_finding(world: Any) -> None:
    world.tables[FLOW].values[0, 230:] = np.nan
    assert world.named() == []


def test_a_sensor_that_wanders_alone_drifts(world: Any) -> None:
    world.tables[FLOW].values[0, 150:] *= np.linspace(1.0, 0.6, 90)
    assert world.named() == [("cdu/c1", "sensor.drift")]


def test_power_that_rises_as_work_starts_is_no_drift_while_its_witnesses_lag(world: Any) -> None:
    watts = world.tables["fan_speed_ratio"].values * 0 + 1935.0
    watts[3, -20:] = 6224.0
    world.tables["node_power_watts"] = SignalTable(world.tables["fan_speed_ratio"].subjects, watts)
    assert world.named() == []
    watts[3, -40:] = 6224.0
    assert world.named() == [("node/n4", "sensor.drift")]


def test_a_domain_that_falls_silent_is_named_and_nothing_is_concluded_from_it(world: Any) -> None:
    for name, table in world.tables.items():
        if name.startswith("cdu_"):
            table.values[:, 150:] = np.nan
    (finding,) = world.explain()
    assert (finding.cause, finding.kind) == ("cdu", "sensor.clock")


def test_clocks_an_hour_apart_leave_doubt(another_world: Any) -> None:
    """The unit's readings are stamped far too late: it seems to move long after what it did."""
    world = another_world(3)
    world.change(FLOW, "cdu/c1", times=0.5, at=220)
    world.change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5, at=220)
    world.hot(*(f"node/n{number}" for number in range(1, 7)), at=120)
    findings = {finding.kind: finding for finding in world.explain()}
    assert findings["cooling.flow_low"].confidence <= 0.7
    assert any("clock" in words for words in findings["cooling.flow_low"].unknown)


def test_a_cause_far_away_is_none(world: Any) -> None:
    """A rack of the other unit loses flow while these get hot: coincidence."""
    world.change(RACK_FLOW, "rack/r4", times=0.5)
    world.change(FLOW, "cdu/c2", times=0.8)
    world.hot("node/n1", "node/n2", "node/n3")
    for finding in world.explain():
        if finding.cause == "rack/r4":
            assert not {"node/n1/gpu/0", "node/n2/gpu/0"} & finding.victims


def test_no_data_and_no_topology_say_nothing(world: Any) -> None:
    assert explain(Panel(np.empty(0)), world.topology) == ()
    assert explain(Panel(np.arange(3) * 10.0), Topology()) == ()
    assert explain(world.panel, Topology()) == ()


@pytest.mark.parametrize(("gpus", "cause"), [((0,), "node/n3/gpu/0"), ((0, 1), "node/n3")])
def test_instruments_of_one_node_that_break_together_are_one_finding(
    world: Any, gpus: tuple[int, ...], cause: str
) -> None:
    for index in gpus:
        world.change("gpu_temperature_celsius", f"node/n3/gpu/{index}", by=500.0)
    assert world.named() == [(cause, "sensor.absurd")]


def test_everything_unseen_says_nothing(world: Any) -> None:
    for table in world.tables.values():
        table.values[:] = np.nan
    assert world.named() == []


def test_a_known_good_past_shows_what_was_wrong_from_the_beginning(world: Any, another_world: Any) -> None:
    calm = another_world(9).panel
    world.change(FLOW, "cdu/c1", times=0.5, at=0)
    world.change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5, at=0)
    assert explain(world.panel, world.topology) == ()
    assert [one.kind for one in explain(world.panel, world.topology, baseline=calm)] == ["cooling.flow_low"]
