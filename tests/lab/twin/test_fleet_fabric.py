"""The fabric's cost model against what can be said of it without it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.twin.fleet.fabric import FabricPort, FleetFabric
from holdfast.lab.twin.fleet.kinds import kinds
from holdfast.lab.twin.fleet.node import FleetNode, NodeFault
from holdfast.lab.twin.fleet.training import COMPUTE_SECONDS, SAVE_SECONDS, STEPS_BETWEEN, TrainingJob, step_seconds

FABRIC = FleetFabric()
LEAVES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=40)
SIZES = st.floats(1, 1e12)


def test_one_node_needs_no_fabric() -> None:
    assert FABRIC.all_reduce_seconds([FabricPort("a")], 1e9) == 0.0


def test_a_large_message_goes_at_the_bandwidth_of_the_slowest_path() -> None:
    below_one_leaf = FABRIC.all_reduce_seconds([FabricPort("a")] * 16, 140e9)
    assert below_one_leaf == pytest.approx(2 * 15 / 16 * 140e9 / 400e9, rel=1e-3)
    across = FABRIC.all_reduce_seconds([FabricPort("a")] * 8 + [FabricPort("b")] * 8, 140e9)
    assert across == pytest.approx(2 * below_one_leaf, rel=1e-3)


def test_a_small_message_costs_latency_alone() -> None:
    assert FABRIC.all_reduce_seconds([FabricPort("a")] * 2, 0.0) == pytest.approx(2 * (4e-6 + 1.2e-6))


@given(LEAVES, SIZES)
def test_the_order_of_the_nodes_does_not_matter(leaves: list[str], size: float) -> None:
    ports = [FabricPort(leaf) for leaf in leaves]
    assert FABRIC.all_reduce_seconds(ports, size) == FABRIC.all_reduce_seconds(ports[::-1], size)


@given(LEAVES, SIZES, st.floats(0.125, 0.875))
def test_a_node_with_fewer_ports_never_makes_it_faster(leaves: list[str], size: float, share: float) -> None:
    whole = [FabricPort(leaf) for leaf in leaves]
    weak = [FabricPort(leaves[0], share), *whole[1:]]
    assert FABRIC.all_reduce_seconds(weak, size) >= FABRIC.all_reduce_seconds(whole, size)


def test_without_any_port_it_never_ends() -> None:
    assert math.isinf(FABRIC.all_reduce_seconds([FabricPort("a"), FabricPort("a", 0.0)], 1.0))


def nodes(count: int) -> tuple[FleetNode, ...]:
    return tuple(FleetNode(i, f"n{i}", {"leaf": "a"}) for i in range(count))


def test_the_slowest_gpu_sets_the_pace_of_all() -> None:
    four = nodes(4)
    before = step_seconds(four)
    four[2].faults.append(NodeFault(kinds()["throttle_thermal"], (1,), 1))
    assert step_seconds(four) == pytest.approx(before + 0.7 * COMPUTE_SECONDS)


def test_a_death_loses_what_came_after_the_checkpoint_and_nothing_else() -> None:
    job = TrainingJob(1, 1, 3 * STEPS_BETWEEN, nodes=nodes(1))
    at = job.begin_stretch(0.0)
    assert at == STEPS_BETWEEN * COMPUTE_SECONDS + SAVE_SECONDS
    assert not job.end_stretch()
    job.begin_stretch(at)
    job.die(at + 10.5 * COMPUTE_SECONDS)
    assert (job.saved, job.lost, job.name) == (STEPS_BETWEEN, 10, "twin-1.1")


def test_a_checkpoint_half_written_saves_nothing() -> None:
    job = TrainingJob(1, 1, 3 * STEPS_BETWEEN, nodes=nodes(1))
    at = job.begin_stretch(0.0)
    assert job.since_checkpoint(at - 1.0) == STEPS_BETWEEN
