"""The machine: the table's paths, and what must hold under any sequence of events."""

from dataclasses import replace

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.fleet.decisions.lifecycle.machine import TABLE, step
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb

POLICY = Policy()


def walk(*events: NodeEvent | EventKind, policy: Policy = POLICY) -> tuple[NodeState, list[Verb]]:
    node, done = NodeState(name="n1"), []
    for at, event in enumerate(events, 1):
        full = event if isinstance(event, NodeEvent) else NodeEvent(kind=event, cause="gpu.xid", job="j1")
        node, actions, _ = step(node, full, float(at), policy)
        done += [action.verb for action in actions]
    return node, done


H = EventKind
TO_READY = (H.ENROLLED, H.TEST_PASSED)
TO_QUARANTINE = (*TO_READY, H.JOB_STARTED, H.FAILED, H.JOB_ENDED, H.EMPTIED)


def test_a_new_node_runs_nothing_until_it_has_passed() -> None:
    node, done = walk(H.ENROLLED)
    assert (node.stage, done) == (Stage.TESTING, [Verb.CORDON, Verb.RETEST])
    assert not node.freshly_tested


def test_after_a_workload_a_node_is_tested_again_before_it_is_ready() -> None:
    node, done = walk(*TO_READY, H.JOB_STARTED, H.JOB_ENDED)
    assert (node.stage, node.freshly_tested, done[-1]) == (Stage.CLEANING, False, Verb.CORDON)
    node, done = walk(*TO_READY, H.JOB_STARTED, H.JOB_ENDED, H.CLEANED, H.TEST_PASSED)
    assert (node.stage, node.freshly_tested, done[-1]) == (Stage.READY, True, Verb.UNCORDON)


def test_running_work_finishes_before_a_failed_node_is_quarantined() -> None:
    node, done = walk(*TO_READY, H.JOB_STARTED, H.FAILED)
    assert (node.stage, done[-1]) == (Stage.DRAINING, Verb.DRAIN)
    assert walk(*TO_QUARANTINE)[0].stage is Stage.QUARANTINED


def test_repair_steps_follow_while_the_same_cause_returns_then_an_operator_decides() -> None:
    again = (H.NEXT_REPAIR, H.RESET_DONE, H.TEST_FAILED)
    assert walk(*TO_QUARANTINE, *again)[1][-2:] == [Verb.RETEST, Verb.CORDON]
    rungs = [
        v for v in walk(*TO_QUARANTINE, *again, *again, H.NEXT_REPAIR)[1] if v in (*POLICY.repair_steps, Verb.TICKET)
    ]
    assert rungs == [Verb.RESET_GPU, Verb.REBOOT, Verb.TICKET]


def test_another_cause_starts_at_the_first_repair_step() -> None:
    other = NodeEvent(kind=H.TEST_FAILED, cause="nvlink.lanes")
    node, done = walk(*TO_QUARANTINE, H.NEXT_REPAIR, H.RESET_DONE, other, H.NEXT_REPAIR)
    assert done[-1] is Verb.RESET_GPU
    assert node.cause == "nvlink.lanes"


def test_a_repeat_offender_starts_one_rung_higher() -> None:
    cycle = [NodeEvent(kind=H.FAILED, cause=f"check.{i}") for i in range(4)]
    back = (H.EMPTIED, H.NEXT_REPAIR, H.RESET_DONE, H.TEST_PASSED)
    events = [*TO_READY, *(e for failed in cycle[:3] for e in (failed, *back)), cycle[3], H.EMPTIED, H.NEXT_REPAIR]
    assert walk(*events)[1][-1] is Verb.REBOOT


def test_a_shared_node_is_cleaned_only_when_the_last_job_has_ended() -> None:
    jobs = [NodeEvent(kind=H.JOB_STARTED, job=j) for j in ("a", "b")]
    node, _ = walk(*TO_READY, *jobs, NodeEvent(kind=H.JOB_ENDED, job="a"))
    assert node.stage is Stage.ALLOCATED
    node, _ = walk(*TO_READY, *jobs, NodeEvent(kind=H.JOB_ENDED, job="a"), NodeEvent(kind=H.JOB_ENDED, job="b"))
    assert node.stage is Stage.CLEANING


def test_blindness_in_service_is_an_alarm_and_never_a_drain() -> None:
    node, done = walk(*TO_READY, H.BLIND)
    assert (node.stage, done[-1]) == (Stage.READY, Verb.TICKET)


def test_a_suite_that_cannot_see_does_not_admit_and_ends_with_a_person() -> None:
    node, done = walk(H.ENROLLED, H.TEST_UNKNOWN, H.TEST_UNKNOWN, H.TEST_UNKNOWN)
    assert (node.stage, done[-1]) == (Stage.QUARANTINED, Verb.TICKET)


def test_a_pass_of_an_old_suite_does_not_count() -> None:
    node, done = walk(H.ENROLLED, NodeEvent(kind=H.TEST_PASSED, suite="0"))
    assert (node.stage, node.tested_at, done[-1]) == (Stage.TESTING, None, Verb.RETEST)


def test_a_test_that_began_before_the_workload_ended_proves_nothing() -> None:
    early = NodeEvent(kind=H.TEST_PASSED, began=3.5)
    node, done = walk(*TO_READY, H.JOB_STARTED, H.JOB_ENDED, H.CLEANED, early)
    assert (node.stage, done[-1]) == (Stage.TESTING, Verb.RETEST)


def test_a_check_in_shadow_mode_moves_nothing() -> None:
    node, done = walk(*TO_READY, H.FAILED, policy=replace(POLICY, shadow_checks=frozenset({"gpu.xid"})))
    assert (node.stage, done[-1]) == (Stage.READY, Verb.UNCORDON)


@pytest.mark.parametrize("stage", list(Stage))
def test_an_operators_release_never_skips_the_test(stage: Stage) -> None:
    move = TABLE.get((stage, H.RELEASE))
    assert move is None or move.to is Stage.TESTING


class AnySequence(RuleBasedStateMachine):
    """Whatever happens in whatever order: nothing becomes ready untested, and no step is unexplained."""

    def __init__(self) -> None:
        super().__init__()
        self.node = NodeState(name="n1")
        self.now = 0.0
        self.workload_ended = -1.0

    @rule(
        kind=st.sampled_from(list(EventKind)),
        cause=st.sampled_from(["gpu.xid", "nvlink.lanes", "fabric.errors"]),
        job=st.sampled_from(["a", "b"]),
        suite=st.sampled_from(["", "0", "1"]),
        took=st.sampled_from([None, 0.5, 3.0]),
    )
    def happens(self, kind: EventKind, cause: str, job: str, suite: str, took: float | None) -> None:
        self.now += 1
        began = None if took is None else self.now - took
        before = self.node
        self.node, actions, reason = step(
            before, NodeEvent(kind=kind, cause=cause, job=job, suite=suite, began=began), self.now, POLICY
        )
        assert reason
        assert len({action.key for action in actions}) == len(actions)
        if self.node.stage is not before.stage:
            assert (before.stage, kind) in TABLE
        if self.node.stage is Stage.READY and before.stage is not Stage.READY:
            assert kind is EventKind.TEST_PASSED
        if Verb.UNCORDON in {action.verb for action in actions}:
            assert self.node.stage is Stage.READY

    @invariant()
    def a_ready_node_is_freshly_tested(self) -> None:
        if self.node.stage is Stage.READY:
            assert self.node.freshly_tested
            assert self.node.tested_suite == POLICY.suite

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.node.offences) <= 33


AnySequence.TestCase.settings = hypothesis_settings(max_examples=200, stateful_step_count=40, deadline=None)
TestAnySequence = AnySequence.TestCase
