"""What the demo shows: what breaks is repaired, and a shared cause drains no node."""

from dataclasses import replace

from holdfast.lab.twin.fleet.kinds import kinds
from holdfast.model.lifecycle import EventKind, Stage

from .virtual_demo import VirtualDemo


def test_a_calm_hour_has_no_incident() -> None:
    day = VirtualDemo("quiet", seed=1)
    day.run(1.0)
    assert day.incidents == {}
    assert day.in_service == 1.0


def test_a_dead_leaf_is_one_incident_and_drains_none_of_its_nodes() -> None:
    demo = VirtualDemo("leaf", seed=1, nodes=32)
    demo.run(0.7)
    shared = [one for one in demo.incidents.values() if not one.subject.startswith("node/")]
    assert [one.subject.partition("/")[0] for one in shared] == ["leaf"]
    assert not any(node.offences for node in demo.fleet.nodes.values())


def test_the_technician_repairs_what_no_reset_can() -> None:
    demo = VirtualDemo("quiet", seed=1, nodes=2)
    demo.run(0.2)
    node = demo.world.nodes[0]
    kind = next(one for one in kinds().values() if one.unreachable)
    demo.world.strike(node, kind, (3,), lasts=1e9)
    demo.run(4.0)
    assert not node.faults
    assert demo.fleet.nodes[node.name].takes_work


def test_a_node_that_waits_for_an_operator_is_visited_once_and_is_back() -> None:
    demo = VirtualDemo("quiet", seed=1, nodes=2)
    demo.run(0.2)
    node = demo.world.nodes[0]
    kind = kinds()["row_remap_failure"]  # which no reset and no reboot repairs
    demo.policy = demo.fleet.policy = replace(demo.policy, automatic_repair_steps=0)
    demo.world.strike(node, kind, (3,))
    demo.run(0.3)
    assert demo.fleet.nodes[node.name].stage is Stage.QUARANTINED
    demo.run(2.0)
    assert demo.visits == 1
    assert not node.faults
    assert demo.fleet.nodes[node.name].takes_work


def test_a_training_without_an_end_leaves_a_draining_node_at_its_next_checkpoint() -> None:
    demo = VirtualDemo("quiet", seed=1, nodes=4)
    demo.run(0.1)
    job = next(iter(demo.world.jobs.running.values()))
    job.steps = 1_000_000
    node, before = job.nodes[0], job.saved
    demo._do(demo.fleet.operator(node.name, EventKind.QUARANTINE, "test", "operator", demo.now))
    demo.run(0.25)
    assert not node.job
    assert (job.deaths, job.lost, job.attempts) == (0, 0, 1)
    assert job.saved > before
    assert demo.fleet.nodes[node.name].stage is Stage.QUARANTINED
