"""The machine: the table's paths, and what must hold under any sequence of events."""

from dataclasses import replace

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.fleet.decisions.lifecycle.machine import TABLE, may_repair, needs_operator, step, takes_out
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, OnDrain, OnUnknown, OnUnknownTest, Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, Verb

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


def test_a_repeat_offender_starts_one_repair_step_higher() -> None:
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
    _, _, words = at(Stage.TESTING, H.TEST_PASSED, event={"suite": "0"})
    assert words == "passed suite 0, but suite 1 is required"


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


def at(stage: Stage, kind: EventKind, policy: Policy = POLICY, event: dict[str, object] | None = None, **node: object):  # type: ignore[no-untyped-def]
    """One step of a node in this stage: itself afterwards, the verbs, and the words."""
    before = NodeState(name="n1", stage=stage, **node)  # type: ignore[arg-type]
    after, actions, reason = step(before, NodeEvent(kind=kind, **(event or {})), 50.0, policy)  # type: ignore[arg-type]
    return after, [action.verb for action in actions], reason


S = Stage


@pytest.mark.parametrize(
    ("stage", "kind", "becomes", "verbs"),
    [
        (S.TESTING, H.TEST_FAILED, S.QUARANTINED, [Verb.CORDON]),
        (S.READY, H.JOB_STARTED, S.ALLOCATED, [Verb.CORDON, Verb.TICKET]),  # without a test: the gate let it in
        (S.ALLOCATED, H.JOB_STARTED, S.ALLOCATED, [Verb.CORDON, Verb.TICKET]),
        (S.SPARE, H.JOB_STARTED, S.ALLOCATED, [Verb.TICKET]),
        (S.TESTING, H.JOB_STARTED, S.ALLOCATED, [Verb.TICKET]),
        (S.QUARANTINED, H.JOB_STARTED, S.QUARANTINED, [Verb.DRAIN, Verb.TICKET]),
        (S.READY, H.JOB_ENDED, S.CLEANING, [Verb.CORDON]),
        (S.READY, H.RETEST, S.TESTING, [Verb.CORDON, Verb.RETEST]),
        (S.CLEANING, H.FAILED, S.QUARANTINED, []),
        (S.READY, H.RECOVERED, S.READY, [Verb.CHOOSE_NORMALLY]),
        (S.READY, H.DEGRADED, S.READY, [Verb.CHOOSE_LAST]),
        (S.READY, H.QUARANTINE, S.DRAINING, [Verb.DRAIN]),
        (S.CLEANING, H.QUARANTINE, S.QUARANTINED, [Verb.CORDON]),
        (S.READY, H.REMOVE, S.REMOVED, [Verb.DRAIN]),
        (S.ALLOCATED, H.REMOVE, S.DRAINING, [Verb.DRAIN]),
        (S.REMOVED, H.REMOVE, S.REMOVED, []),
        (S.REMOVED, H.ENROLLED, S.REMOVED, []),
        (S.RESETTING, H.RESET_FAILED, S.QUARANTINED, []),
        (S.QUARANTINED, H.FAILED, S.QUARANTINED, []),
        (S.REMOVED, H.HELD, S.REMOVED, []),
    ],
)
def test_where_one_event_leads(stage: Stage, kind: EventKind, becomes: Stage, verbs: list[Verb]) -> None:
    after, done, reason = at(stage, kind)
    assert (after.stage, done) == (becomes, verbs)
    assert reason


def test_a_retest_releases_no_quarantine_of_an_operator() -> None:
    kept, done, reason = at(S.QUARANTINED, H.RETEST, cause="operator", event={"cause": "operator"})
    assert (kept.stage, done) == (S.QUARANTINED, [])
    assert "release it" in reason
    assert at(S.QUARANTINED, H.RETEST, cause="gpu.xid")[0].stage is S.TESTING


@pytest.mark.parametrize(
    ("policy", "evict_at", "announce"),
    [
        (replace(POLICY, drain_seconds=100.0), 150.0, False),
        (replace(POLICY, drain=OnDrain.CHECKPOINT, checkpoint_seconds=60.0), 110.0, True),
        (replace(POLICY, drain=OnDrain.EVICT), 50.0, False),
    ],
)
def test_when_running_work_leaves_a_drained_node_is_the_pools_choice(
    policy: Policy, evict_at: float, announce: bool
) -> None:
    node = NodeState(name="n1", stage=S.ALLOCATED)
    (drain,) = step(node, NodeEvent(kind=H.FAILED, cause="gpu.xid"), 50.0, policy)[1]
    assert (drain.verb, drain.evict_at, drain.announce) == (Verb.DRAIN, evict_at, announce)


@pytest.mark.parametrize(
    ("stage", "kind"), [(S.READY, H.RETEST), (S.TESTING, H.TEST_FAILED), (S.READY, H.BLIND), (S.TESTING, H.TEST_PASSED)]
)
def test_only_a_drain_sends_running_work_away(stage: Stage, kind: EventKind) -> None:
    policy = replace(POLICY, drain=OnDrain.CHECKPOINT, checkpoint_seconds=60.0)
    actions = step(NodeState(name="n1", stage=stage), NodeEvent(kind=kind, cause="gpu.xid"), 50.0, policy)[1]
    assert actions
    assert {(action.evict_at, action.announce) for action in actions} == {(0.0, False)}


@pytest.mark.parametrize("stage", [S.READY, S.ALLOCATED])
def test_a_job_on_a_tested_node_is_no_surprise(stage: Stage) -> None:
    assert at(stage, H.JOB_STARTED, tested_at=1.0)[1] == []


@pytest.mark.parametrize(("stage", "verbs"), [(S.READY, [Verb.CORDON]), (S.ALLOCATED, [Verb.CORDON]), (S.SPARE, [])])
def test_a_hold_for_a_failure_withdraws_the_test_and_closes_the_node(stage: Stage, verbs: list[Verb]) -> None:
    held = {"holder": "leaf/l1", "failed": True}
    after, done, _ = at(stage, H.HELD, event=held, tested_at=1.0, tested_suite="1")
    assert (after.stage, after.tested_at, after.tested_suite, after.takes_work) == (stage, None, "", False)
    assert done == verbs
    again, done, _ = at(stage, H.HELD, event=held, held="leaf/l2")
    assert (again.held, done) == ("leaf/l1", [])  # closed already
    symptom, done, _ = at(stage, H.HELD, event={"holder": "cdu/c1"}, tested_at=1.0)
    assert (symptom.tested_at, done) == (1.0, [])


@pytest.mark.parametrize("kind", [H.FAILED, H.QUARANTINE, H.REMOVE])
def test_whatever_takes_a_node_out_withdraws_its_test(kind: EventKind) -> None:
    assert at(S.ALLOCATED, kind, tested_at=1.0, tested_suite="1")[0].tested_at is None


def test_what_the_table_does_not_know_changes_nothing_and_says_so() -> None:
    after, done, reason = at(S.READY, H.RESET_DONE, since=3.0)
    assert (after, done, reason) == (
        NodeState(name="n1", stage=S.READY, since=3.0),
        [],
        "reset_done changes nothing while ready",
    )


def test_a_stage_that_stays_keeps_its_beginning_and_its_words() -> None:
    again, _, _ = at(S.TESTING, H.RETEST, since=3.0, reason="as it was", event={"reason": "asked"})
    assert (again.since, again.reason) == (3.0, "as it was")
    kept, _, _ = at(S.READY, H.BLIND, since=3.0, reason="as it was")
    assert (kept.since, kept.reason) == (3.0, "as it was")
    left, _, _ = at(S.READY, H.FAILED, since=3.0, event={"reason": "xid 79"})
    assert (left.since, left.reason) == (50.0, "xid 79")


def test_a_test_that_is_asked_for_is_waited_for() -> None:
    assert at(S.READY, H.RETEST)[0].asked_at == 50.0
    assert at(S.READY, H.FAILED)[0].asked_at is None


def test_an_action_gives_the_rule_then_what_happened() -> None:
    assert at(S.READY, H.FAILED, event={"reason": "xid 79"})[2] == "failed in service: xid 79"
    assert at(S.READY, H.FAILED)[2] == "failed in service"
    assert at(S.READY, H.FAILED)[0].reason == "failed in service"


def test_an_action_names_its_cause_and_a_spares_cause_is_being_a_spare() -> None:
    def cause(kind: EventKind, **event: object) -> str:
        node = NodeState(name="n1", stage=S.TESTING)
        _, actions, _ = step(node, NodeEvent(kind=kind, cause="gpu.xid", **event), 50.0, POLICY)  # type: ignore[arg-type]
        assert {(action.node, action.at) for action in actions} == {("n1", 50.0)}
        return actions[0].cause

    assert cause(H.TEST_FAILED) == "gpu.xid"
    assert cause(H.TEST_PASSED, spare=True) == "spare"
    assert cause(H.TEST_PASSED) == "gpu.xid"


@pytest.mark.parametrize(
    ("held", "cause", "kind", "words"),
    [
        ("loop/c2", "gpu.xid", H.EMPTIED, "before"),  # what is held goes on saying by what
        ("", "operator", H.EMPTIED, "before"),  # what a person said stays
        ("", "gpu.xid", H.EMPTIED, "after"),
        ("", "operator", H.RELEASE, "after"),
    ],
)
def test_whose_words_a_node_carries(held: str, cause: str, kind: EventKind, words: str) -> None:
    node, _, _ = at(S.DRAINING, kind, held=held, cause=cause, reason="before", event={"reason": "after"})
    assert node.reason == words


def degraded(times: int, policy: Policy = POLICY, ago: float = 10.0, stage: Stage = S.READY, by: str = "") -> Stage:
    """Where a node is that was degraded so often before, and is again."""
    past = tuple(Offence(at=50.0 - ago, cause="gpu.ecc") for _ in range(times))
    return at(stage, H.DEGRADED, policy, {"cause": "gpu.ecc"}, degradations=past, degraded_by=by)[0].stage


def test_the_third_degradation_by_one_check_is_a_failure() -> None:
    assert degraded(1) is S.READY
    assert degraded(2) is S.DRAINING
    assert degraded(2, stage=S.SPARE) is S.DRAINING
    assert degraded(2, stage=S.CLEANING) is S.CLEANING  # out of use already
    assert degraded(2, by="gpu.ecc") is S.READY  # still the same degradation
    other = (Offence(at=45.0, cause="gpu.xid"),) * 2
    assert at(S.READY, H.DEGRADED, event={"cause": "gpu.ecc"}, degradations=other)[0].stage is S.READY


@pytest.mark.parametrize("policy", [POLICY, Policy(service_degraded=OnDegraded.FAIL)])
def test_an_agent_whose_disk_is_full_again_and_again_takes_no_node_out(policy: Policy) -> None:
    """A tenant can fill a disk. What the agent says of itself is no fault of the node."""
    past = tuple(Offence(at=50.0 - n, cause="agent.state") for n in range(1, 9))
    moved, actions, _ = at(S.READY, H.DEGRADED, policy, {"cause": "agent.state"}, degradations=past)
    assert moved.stage is S.READY and Verb.DRAIN not in actions


def test_old_degradations_are_forgotten() -> None:
    short = replace(POLICY, offence_seconds=10.0)
    assert degraded(2, short, ago=10.0) is S.DRAINING
    assert degraded(2, short, ago=10.1) is S.READY


def test_what_degraded_leads_to_is_the_operators_choice() -> None:
    assert degraded(0, replace(POLICY, service_degraded=OnDegraded.FAIL)) is S.DRAINING
    assert degraded(9, replace(POLICY, service_degraded=OnDegraded.NOTHING)) is S.READY
    nothing = at(S.READY, H.DEGRADED, replace(POLICY, service_degraded=OnDegraded.NOTHING), {"cause": "gpu.ecc"})
    assert nothing[1:] == ([], "degraded: recorded")
    fail = replace(POLICY, service_degraded=OnDegraded.FAIL)
    words = at(S.READY, H.DEGRADED, fail, {"cause": "gpu.ecc", "reason": "slow"})[2]
    assert words == "failed in service: degraded: slow"
    past = (Offence(at=45.0, cause="gpu.ecc"),) * 2
    often = at(S.READY, H.DEGRADED, event={"cause": "gpu.ecc", "reason": "slow"}, degradations=past)[2]
    assert often == "failed in service: degraded 3 times: slow"


def test_what_unknown_leads_to_is_the_operators_choice() -> None:
    quiet = replace(POLICY, service_unknown=OnUnknown.NOTHING)
    assert at(S.READY, H.BLIND, quiet)[1:] == ([], "unknown: recorded")
    person = replace(POLICY, bootstrap_unknown=OnUnknownTest.OPERATOR)
    assert at(S.TESTING, H.TEST_UNKNOWN, person)[0].stage is S.QUARANTINED
    assert at(S.TESTING, H.TEST_UNKNOWN, tests=1)[:2] == (
        NodeState(name="n1", stage=S.TESTING, tests=2, asked_at=50.0),
        [Verb.RETEST],
    )
    assert at(S.TESTING, H.TEST_UNKNOWN, tests=2)[0].stage is S.QUARANTINED


def test_a_shadow_check_moves_nothing_by_failing_or_degrading_and_is_no_excuse_for_a_failed_test() -> None:
    shadow = replace(POLICY, shadow_checks=frozenset({"gpu.xid"}), service_degraded=OnDegraded.FAIL)
    for kind in (H.FAILED, H.DEGRADED):
        after, done, reason = at(S.READY, kind, shadow, {"cause": "gpu.xid", "reason": "xid 79"})
        assert (after, done) == (NodeState(name="n1", stage=S.READY), [])
        assert reason.startswith("gpu.xid is in shadow mode")
    assert at(S.READY, H.FAILED, shadow, {"cause": "gpu.ecc"})[0].stage is S.DRAINING
    assert at(S.TESTING, H.TEST_FAILED, shadow, {"cause": "gpu.xid"})[0].stage is S.QUARANTINED


@pytest.mark.parametrize(
    ("stage", "failed", "kind", "counted"),
    [
        (S.READY, False, H.FAILED, True),
        (S.READY, False, H.DEGRADED, False),
        (S.READY, True, H.FAILED, False),  # counted already
        (S.QUARANTINED, False, H.FAILED, False),
    ],
)
def test_whether_the_breaker_counts_one_more(stage: Stage, failed: bool, kind: EventKind, counted: bool) -> None:
    node = NodeState(name="n1", stage=stage, failed=failed)
    assert takes_out(node, NodeEvent(kind=kind, cause="gpu.xid"), 50.0, POLICY) is counted


@pytest.mark.parametrize(
    ("cause", "repair_step", "automatic", "climbs", "persons"),
    [
        ("gpu.xid", 0, 2, True, False),
        ("gpu.xid", 1, 2, True, False),
        ("gpu.xid", 2, 2, True, True),  # once more, to write the ticket
        ("gpu.xid", 3, 2, False, True),
        ("gpu.xid", 3, 9, True, True),  # the ladder itself has three rungs
        ("gpu.xid", 4, 9, False, True),
        ("operator", 0, 2, False, True),
        ("", 0, 2, False, True),
    ],
)
def test_who_may_climb_and_whose_case_it_is(
    cause: str, repair_step: int, automatic: int, climbs: bool, persons: bool
) -> None:
    node = NodeState(name="n1", stage=S.QUARANTINED, cause=cause, repair_step=repair_step)
    policy = replace(POLICY, automatic_repair_steps=automatic)
    assert may_repair(node, policy) is climbs
    assert needs_operator(node, policy) is persons


@pytest.mark.parametrize(
    ("repair_step", "automatic", "verb"),
    [(0, 2, Verb.RESET_GPU), (1, 2, Verb.REBOOT), (2, 2, Verb.TICKET), (2, 3, Verb.INSPECT), (3, 9, Verb.TICKET)],
)
def test_the_verb_of_each_repair_step(repair_step: int, automatic: int, verb: Verb) -> None:
    policy = replace(POLICY, automatic_repair_steps=automatic)
    after, done, reason = at(S.QUARANTINED, H.NEXT_REPAIR, policy, cause="gpu.xid", repair_step=repair_step)
    assert done == [verb]
    ticket = verb is Verb.TICKET
    assert after.stage is (S.QUARANTINED if ticket else S.RESETTING)
    assert reason == (
        "no automatic repair step is left for gpu.xid; an operator decides"
        if ticket
        else f"repair: {verb.value.replace('_', ' ')}"
    )


def test_a_node_that_leaves_is_removed_once_it_is_empty() -> None:
    assert at(S.DRAINING, H.EMPTIED, leaving=True)[0].stage is S.REMOVED
    assert at(S.DRAINING, H.EMPTIED)[0].stage is S.QUARANTINED
    assert at(S.DRAINING, H.REMOVE)[0].stage is S.REMOVED
    assert at(S.DRAINING, H.REMOVE, jobs=frozenset({"a"}))[0].stage is S.DRAINING


def test_a_released_node_whose_work_still_runs_is_tested_after_it() -> None:
    assert at(S.DRAINING, H.RELEASE)[0].stage is S.TESTING
    assert at(S.DRAINING, H.RELEASE, jobs=frozenset({"a"}))[0].stage is S.ALLOCATED


@pytest.mark.parametrize(
    ("tested_at", "used_until", "suite", "becomes"),
    [(9.0, 5.0, "1", S.READY), (5.0, 9.0, "1", S.TESTING), (9.0, 5.0, "0", S.TESTING), (None, None, "", S.TESTING)],
)
def test_a_spare_is_promoted_only_on_a_test_that_holds(
    tested_at: float | None, used_until: float | None, suite: str, becomes: Stage
) -> None:
    after, _, _ = at(S.SPARE, H.PROMOTED, tested_at=tested_at, used_until=used_until, tested_suite=suite)
    assert after.stage is becomes


def test_a_spare_that_passed_is_held_back() -> None:
    after, done, _ = at(S.TESTING, H.TEST_PASSED, event={"spare": True})
    assert (after.stage, done) == (S.SPARE, [Verb.CORDON])


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


AnySequence.TestCase.settings = hypothesis_settings(stateful_step_count=40)
TestAnySequence = AnySequence.TestCase
