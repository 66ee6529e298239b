"""A node is released when storage has what only its memory held of a training, or when that took too long."""

from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.node_status import NodeStatus
from holdfast.model.wire.report import Report
from tests.fleet.decisions.simulated_fleet import POLICY, SimulatedFleet


def holds(simulated: SimulatedFleet, *jobs: str) -> None:
    seq = int(1000 * simulated.now)
    simulated.steps += simulated.fleet.take(
        Report(node="n3", session="k", seq=seq, at=simulated.now, unsaved=jobs), simulated.now
    )


def asked(simulated: SimulatedFleet) -> float:
    """How long its keepers are given to bring what they hold to storage."""
    return simulated.fleet.unsaved.flush_seconds(simulated.fleet.nodes["n3"], simulated.now, simulated.fleet.policy)


def drained(policy=POLICY) -> SimulatedFleet:
    simulated = SimulatedFleet(policy=policy)
    assert asked(simulated) == 0
    simulated.says("n3", "gpu.xid", "fail")
    assert simulated.stage("n3") is Stage.DRAINING
    holds(simulated, "llama")
    return simulated


def test_a_drained_node_is_released_only_when_its_memory_is_in_storage() -> None:
    simulated = drained()
    simulated.passes()
    simulated.passes()
    assert simulated.stage("n3") is Stage.DRAINING
    assert asked(simulated) == POLICY.flush_seconds
    holds(simulated)
    simulated.passes()
    assert simulated.stage("n3") is Stage.QUARANTINED


def test_a_storage_that_does_not_answer_is_not_waited_for_for_ever_and_the_history_says_so() -> None:
    simulated = drained()
    simulated.passes()
    simulated.passes(POLICY.flush_seconds - 1)
    assert simulated.stage("n3") is Stage.DRAINING
    simulated.passes(2)
    assert simulated.stage("n3") is Stage.QUARANTINED
    assert "state of llama is not in storage" in simulated.steps[-1].transition.reason


def test_where_no_one_is_to_wait_no_one_does() -> None:
    simulated = drained(replace(POLICY, flush_seconds=0.0))
    simulated.passes()
    assert simulated.stage("n3") is Stage.QUARANTINED


def test_it_is_the_same_for_a_node_that_a_scheduler_calls_empty_and_for_one_between_two_jobs() -> None:
    simulated = drained()
    empty = NodeStatus(node="n3", accepts_work=False, cordoned=True, down=False, busy=False, jobs=frozenset())
    simulated.steps += simulated.fleet.observe([empty], simulated.now)
    assert simulated.stage("n3") is Stage.DRAINING
    between = SimulatedFleet()
    busy = replace(empty, busy=True, jobs=frozenset({"7"}))
    between.steps += between.fleet.observe([busy], between.now)
    between.steps += between.fleet.observe([empty], between.now)
    holds(between, "llama")
    between.passes()
    assert between.stage("n3") is Stage.CLEANING
    holds(between)
    between.passes()
    assert between.stage("n3") is Stage.TESTING


def test_before_planned_work_starts_memory_is_brought_to_storage() -> None:
    simulated = SimulatedFleet()
    begins = simulated.now + 1_000
    window = Maintenance(name="pump", nodes=frozenset({"n3"}), start=begins, end=begins + 600)
    simulated.fleet.policy = replace(POLICY, maintenance=(window,))
    assert asked(simulated) == 0
    simulated.now = begins - 60
    assert asked(simulated) == POLICY.flush_seconds
    simulated.now = begins + 60
    assert asked(simulated) == 0


def test_what_is_waited_for_ends_when_it_is_saved_and_starts_anew_when_there_is_more() -> None:
    policy = replace(POLICY, flush_seconds=100.0)
    made, node = Unsaved(), NodeState(name="n1", stage=Stage.DRAINING)

    def simulated(*jobs: str) -> None:
        made.take(Report(node="n1", session="k", seq=1, at=0.0, unsaved=jobs))

    assert not made.holds(node, 0.0, policy)
    simulated("llama", "vit")
    assert made.holds(node, 10.0, policy)
    assert made.holds(node, 109.9, policy)
    assert not made.holds(node, 110.0, policy)
    simulated()
    assert not made.holds(node, 111.0, policy)
    simulated("llama")
    assert made.holds(node, 200.0, policy)
    assert made.holds(node, 299.9, policy)


def test_what_a_release_left_behind_is_named_once() -> None:
    made, node = Unsaved(), NodeState(name="n1", stage=Stage.DRAINING)
    assert made.left("n1") == ""
    made.take(Report(node="n1", session="k", seq=1, at=0.0, unsaved=("llama", "vit")))
    assert made.left("n1") == "", "nobody waited"
    made.holds(node, 10.0, POLICY)
    assert made.left("n1") == "state of llama, vit is not in storage"
    assert made.left("n1") == ""


@pytest.mark.parametrize(
    ("stage", "jobs", "seconds"),
    [
        (Stage.DRAINING, frozenset(), 120.0),
        (Stage.CLEANING, frozenset(), 120.0),
        (Stage.DRAINING, frozenset({"a"}), 0.0),
        (Stage.READY, frozenset(), 0.0),
    ],
)
def test_keepers_of_an_empty_node_on_its_way_out_are_asked(stage: Stage, jobs: frozenset[str], seconds: float) -> None:
    assert Unsaved().flush_seconds(NodeState(name="n1", stage=stage, jobs=jobs), 0.0, POLICY) == seconds


def test_what_was_waited_for_and_is_in_storage_by_now_is_not_left() -> None:
    unsaved, node = Unsaved(), NodeState(name="n0", stage=Stage.DRAINING)
    report = Report(node="n0", session="s", seq=1, at=1.0, unsaved=("llama",))
    for jobs, left in ((("llama",), "state of llama is not in storage"), ((), "")):
        unsaved.take(report)
        assert unsaved.holds(node, 10.0, POLICY)
        unsaved.take(replace(report, unsaved=jobs))
        assert unsaved.left("n0") == left
