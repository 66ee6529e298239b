"""Tests that a job requests: limits on both sides, and what the breaker counts."""

import pytest

from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.job_requests import JUST_ENDED_SECONDS
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage

NOW = 100_000.0
USED = NOW - 60.0


def node(name: str = "n1", **more: object) -> NodeState:
    facts = {"stage": Stage.READY, "tested_at": USED + 10, "used_until": USED, **more}
    return NodeState(name=name, **facts)  # type: ignore[arg-type]


def refusal(state: NodeState, now: float = NOW) -> str:
    return Fleet(Policy(), [state]).refuses_job(state.name, now)


@pytest.mark.parametrize("stage", list(Stage))
def test_only_an_idle_node_in_service(stage: Stage) -> None:
    assert (refusal(node(stage=stage)) == "") == (stage in (Stage.READY, Stage.SPARE))


def test_only_soon_after_a_workload() -> None:
    assert refusal(node(used_until=None)), "no workload is known"
    assert refusal(node(used_until=NOW - JUST_ENDED_SECONDS)) == ""
    assert refusal(node(used_until=NOW - JUST_ENDED_SECONDS - 1))


def test_once_for_each_workload() -> None:
    fleet = Fleet(Policy(), [node()])
    assert fleet.refuses_job("n1", NOW) == ""
    assert fleet.retest_for_job("n1", "slow", "llama", NOW)
    assert fleet.nodes["n1"].stage is Stage.TESTING and fleet.nodes["n1"].doubted
    assert fleet.refuses_job("n1", NOW + 1), "it is being tested"
    passed = NodeEvent(kind=EventKind.TEST_PASSED, began=NOW + 2)
    fleet._state.step("n1", passed, NOW + 60)
    assert fleet.nodes["n1"].stage is Stage.READY and not fleet.nodes["n1"].doubted
    assert "since its last workload" in fleet.refuses_job("n1", NOW + 61)
    for kind in (EventKind.JOB_STARTED, EventKind.JOB_ENDED, EventKind.CLEANED):
        fleet._state.step("n1", NodeEvent(kind=kind, job="9"), NOW + 100)
    fleet._state.step("n1", NodeEvent(kind=EventKind.TEST_PASSED, began=NOW + 110), NOW + 120)
    assert fleet.refuses_job("n1", NOW + 130) == ""


def test_no_more_of_a_pool_than_the_breaker_leaves() -> None:
    """Ten nodes of which three may be out; one is. Failures are judged without the tests of jobs."""
    policy = Policy(breaker_share=0.3)
    lives = [node(f"n{number}") for number in range(9)]
    fleet = Fleet(policy, [*lives, node("bad", stage=Stage.QUARANTINED, tested_at=None, failed=True)])
    accepted = []
    for one in lives:
        if not fleet.refuses_job(one.name, NOW):
            fleet.retest_for_job(one.name, "slow", "llama", NOW)
            accepted.append(one.name)
    assert accepted == ["n0", "n1"]
    assert "2 are tested for jobs; 3 may be" in fleet.refuses_job("n5", NOW)
    assert fleet.brake("n5") == "", "a test of a job does not keep a failing node in service"
    fleet._state.step("n0", NodeEvent(kind=EventKind.TEST_PASSED, began=NOW + 1), NOW + 2)
    assert fleet.refuses_job("n5", NOW + 3) == ""


def test_an_operators_test_is_not_counted_as_a_jobs() -> None:
    fleet = Fleet(Policy(), [node()])
    fleet.operator("n1", EventKind.RETEST, "", "ann", NOW)
    assert fleet.nodes["n1"].stage is Stage.TESTING and not fleet.nodes["n1"].doubted
