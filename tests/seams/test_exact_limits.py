"""Exactly at a limit, and beside it: where the word is "at least" the limit itself counts, where it is "more" it does not."""

from typing import Any

import numpy as np
import pytest

from holdfast.model.topology import Edge
from holdfast.seams.rules.cooling_fan import SEAM as FAN
from holdfast.seams.rules.cooling_flow import SEAM as FLOW
from holdfast.seams.rules.cooling_pump import SEAM as PUMP
from holdfast.seams.rules.cooling_rack import SEAM as RACK
from holdfast.seams.rules.fabric_load import SEAM as LOAD
from holdfast.seams.rules.fabric_rail import SEAM as RAIL
from holdfast.seams.rules.pools_path import SEAM as POOLS
from holdfast.seams.rules.storage_service import SEAM as SERVICE
from tests.seams.making import START, Make, change, gpus, hot, linked, measured, nodes, of, without

CDU, RACK_FLOW, SUPPLY = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute", "cdu_supply_celsius"
INLET, ROOM, SPEED = "rack_inlet_celsius", "ambient_celsius", "fan_speed_ratio"
HEAT, WATTS, USE = "gpu_temperature_celsius", "gpu_power_watts", "gpu_utilization_ratio"
CONGESTION, LINK_USE = "link_congestion_ratio", "link_utilization_ratio"
PATH, ONE = "path/prefill-decode", "link/leaf1-spine1"


def test_half_of_the_loss_of_flow_is_as_much(quiet: Any) -> None:
    quiet.tables[WATTS].values[:] = 512.0
    of(
        change(CDU, "cdu/c1", times=0.5),
        change(RACK_FLOW, "rack/r1", "rack/r2", times=0.5),
        gpus(WATTS, nodes(1, 6), times=0.75),
    )(quiet)
    assert quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].score == START + 2.5 + 2 - 5


def test_of_two_rooms_one_that_warms_as_much_explains_it(quiet: Any) -> None:
    quiet.add(ROOM, {"room/h1": 24.0, "room/h2": 24.0})
    quiet.link(Edge("cools", "room/h2", "cdu/c2"))
    of(
        change(SUPPLY, "cdu/c2", by=4.0),
        change(INLET, "rack/r3", "rack/r4", by=4.0),
        change(ROOM, "room/h1", by=3.0),
        change(ROOM, "room/h2", by=4.0),
    )(quiet)
    assert quiet.candidates(FLOW)["cdu/c2", "cooling.supply_warm"].score == START + 2 + 2 - 5


def test_metadata_that_takes_exactly_five_times_as_long_is_far(quiet: Any) -> None:
    quiet.tables["storage_metadata_seconds"].values[:] = 0.25
    change("storage_metadata_seconds", times=5.0)(quiet)
    assert quiet.candidates(SERVICE)["storage/s1", "storage.metadata"].proven


@pytest.mark.parametrize(("times", "longer", "most"), [(4.0, 1.0, 0.0), (4.0, 2.0, 4.0), (6.0, 1.0, 4.0)])
def test_metadata_that_is_a_little_slower_must_show_in_a_checkpoint(
    quiet: Any, times: float, longer: float, most: float
) -> None:
    quiet.tables["storage_metadata_seconds"].values[:] = 0.25
    change("storage_metadata_seconds", times=times)(quiet)
    measured("job_checkpoint_seconds", {"job/llama": 20.0})(quiet)
    change("job_checkpoint_seconds", times=longer)(quiet)
    assert quiet.candidates(SERVICE)["storage/s1", "storage.metadata"].most == most


def test_who_saves_as_fast_while_no_one_is_slower_proves_nothing(quiet: Any) -> None:
    of(
        change("storage_latency_seconds", times=1.5),
        measured("job_checkpoint_seconds", {"job/llama": 40.0}),
        change("job_checkpoint_seconds", by=1.0, at=200),
    )(quiet)
    assert quiet.candidates(SERVICE)["storage/s1", "storage.write_slow"].score == START + 1


@pytest.mark.parametrize(
    ("why", "make", "alone"),
    [
        ("nobody beside it", lambda world: [world.unlink("rack/r2", f"node/n{n}") for n in (5, 6)], True),
        ("those beside it are hot", hot(nodes(5, 6)), False),
        ("a rack that only feeds it", of(hot(nodes(7, 9)), linked(Edge("powers", "rack/r3", "node/n4"))), True),
        (
            "a second rack that cools it is hot",
            of(hot(nodes(7, 9)), linked(Edge("cools", "rack/r3", "node/n4"))),
            False,
        ),
    ],
)
def test_a_hot_node_is_alone_among_those_that_its_rack_cools(quiet: Any, why: str, make: Make, alone: bool) -> None:
    of(without(SPEED), hot(nodes(4, 4)), make)(quiet)
    assert (("node/n4", "cooling.fan") in quiet.candidates(FAN)) is alone, why


@pytest.mark.parametrize(
    ("source", "kind", "found"), [("rack/x", "cools", True), ("rack/x", "powers", False), ("room/x", "cools", False)]
)
def test_a_hot_rack_is_one_that_cools(quiet: Any, source: str, kind: str, found: bool) -> None:
    quiet.link(*(Edge(kind, source, f"node/n{n}") for n in (4, 5)))
    of(without(RACK_FLOW), hot(nodes(4, 5)))(quiet)
    assert ((source, "cooling.rack_blocked") in quiet.candidates(RACK)) is found


@pytest.mark.parametrize(
    ("source", "kind", "found"),
    [("switch/x", "connects", True), ("switch/x", "powers", False), ("rack/x", "connects", False)],
)
def test_a_rail_is_a_switch_that_connects_ports(quiet: Any, source: str, kind: str, found: bool) -> None:
    ports = {f"node/n{n}/nic/mlx5_0": 0.01 for n in (1, 2, 3)}
    quiet.add("port_xmit_wait_ratio", {**ports, "node/n1": 0.01, "node/n2": 0.01, "node/n3": 0.01})
    quiet.link(*(Edge(kind, source, port) for port in ports))
    quiet.change("port_xmit_wait_ratio", by=0.05)
    assert set(quiet.candidates(RAIL)) == ({(source, "fabric.rail")} if found else set())


def test_one_wild_reading_that_is_held_is_no_swing(quiet: Any) -> None:
    """Read every 40 s: two readings above and two below within 320 s."""
    values = quiet.tables[CDU].values
    values[:] = 200.0 + np.repeat(np.arange(60) % 2, 4) * 0.01
    high, low = slice(208, 216), slice(216, 224)
    values[0, high] += 20.0
    values[0, low] -= 20.0
    assert quiet.candidates(PUMP) == {}, "a load that rises and falls turns once"
    values[0, 192:200] += 20.0
    values[0, 200:208] -= 20.0
    assert set(quiet.candidates(PUMP)) == {("cdu/c1", "cooling.pump_oscillation")}
    values[0, 212:216] -= 20.0
    assert quiet.candidates(PUMP) == {}


def test_two_of_four_links_may_be_crowded_by_routes(quiet: Any) -> None:
    links = [f"link/x{n}" for n in range(4)]
    quiet.link(*(Edge("connects", link, "switch/x") for link in links), Edge("connects", "switch/x", "node/n98"))
    quiet.add(CONGESTION, dict.fromkeys(links, 0.03))
    quiet.add(LINK_USE, dict.fromkeys(links, 0.5))
    of(change(CONGESTION, *links[:2], by=0.1), change(LINK_USE, *links[:2], by=0.1))(quiet)
    change(LINK_USE, *links[2:], times=0.8)(quiet)
    assert ("switch/x", "fabric.routing") in quiet.candidates(LOAD)
    of(change(CONGESTION, links[2], by=0.1), change(LINK_USE, links[2], by=0.2))(quiet)
    assert ("switch/x", "fabric.routing") not in quiet.candidates(LOAD)


@pytest.mark.parametrize("gone", ["row", "usual"])
def test_a_link_of_which_nothing_is_known_was_not_crowded(quiet: Any, gone: str) -> None:
    quiet.link(Edge("connects", ONE, PATH))
    change("pool_transfer_seconds", PATH, times=1.3)(quiet)
    if gone == "row":
        without(CONGESTION)(quiet)
    else:
        quiet.tables[CONGESTION].values[0] = np.nan
    assert quiet.candidates(POOLS)[PATH, "pools.path"].score == START + 2.5 + 0.5 + 0.5


def test_a_job_pauses_and_its_last_step_stands(quiet: Any) -> None:
    change("job_step_seconds", times=1.5)(quiet)
    quiet.tables["job_step_seconds"].values[0, -20:] = np.nan
    assert set(quiet.scene.moved("job_step_seconds")) == {"job/llama"}


def test_gpus_that_were_warm_and_are_partly_unseen_were_warm(quiet: Any) -> None:
    of(change(CDU, "cdu/c1", times=0.5), gpus(HEAT, nodes(1, 6), by=2.0))(quiet)
    quiet.tables[HEAT].values[:12, 160:170] = np.nan
    assert quiet.candidates(FLOW)["cdu/c1", "cooling.flow_low"].score == START + 2.5 - 2.5


def test_heat_and_power_may_be_reported_in_another_order(quiet: Any) -> None:
    table = quiet.tables[WATTS]
    quiet.tables[WATTS] = type(table)(table.subjects[::-1], table.values[::-1].copy())
    of(gpus(HEAT, nodes(1, 2), by=5.0), gpus(WATTS, nodes(2, 2), times=1.2))(quiet)
    assert set(quiet.scene.hot) == {"node/n1"}
