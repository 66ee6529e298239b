"""Steps from memory are the machine's, whatever happened before and whenever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.decisions.lifecycle import machine
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, Policy
from holdfast.fleet.decisions.lifecycle.step_cache import EventKey, OffenceHistory, Recall
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, changed

REPORTED = st.tuples(
    st.sampled_from(EventKind), st.sampled_from(("gpu", "nvlink")), st.sampled_from(("", "a", "b")), st.booleans()
)
USUAL: tuple[EventKind, ...] = (
    EventKind.JOB_STARTED, EventKind.FAILED, EventKind.JOB_ENDED, EventKind.EMPTIED, EventKind.NEXT_REPAIR,
    EventKind.RESET_DONE, EventKind.TEST_PASSED,
)  # fmt: skip
HISTORY = st.lists(
    st.one_of(
        st.tuples(REPORTED, st.floats(1e-3, 40.0)).map(lambda one: [one]),
        st.floats(1e-3, 40.0).map(lambda gap: [((kind, "gpu", "a", False), gap) for kind in USUAL]),
    ),
    max_size=25,
).map(lambda parts: [one for part in parts for one in part])
POLICIES = st.builds(
    Policy,
    suite=st.sampled_from(("1", "2")),
    offence_seconds=st.sampled_from((0.0, 10.0, 100.0, 1e6)),
    repeat_offences=st.integers(0, 3),
    degraded_repeats=st.integers(1, 4),
    service_degraded=st.sampled_from(OnDegraded),
    automatic_repair_steps=st.integers(0, 4),
)


def comparable(life: NodeState, recent: list[Offence], degraded: list[Offence]) -> object:
    """All that is no time, and the two things asked of times."""
    return (
        life.stage, life.cause, life.repair_step, life.tests, life.tested_suite, life.jobs, life.degraded_by,
        life.failed, life.held, life.leaving, life.reason, life.out, life.freshly_tested, [one.cause for one in recent],
        [one.cause for one in degraded],
    )  # fmt: skip


@given(HISTORY, POLICIES, st.sampled_from((Stage.READY, Stage.SPARE)))
def test_the_cache_answers_as_the_machine(
    node_history: list[tuple[EventKey, float]], policy: Policy, stage: Stage
) -> None:
    recall = Recall(policy)
    for _ in range(2):  # the second time all is known already
        life = NodeState(name="n1", stage=stage, tested_at=-1.0, tested_suite=policy.suite)
        history, now = recall.begin(stage), 0.0
        for event_key, gap in node_history:
            now += gap
            kind, cause, job, spare = event_key
            event = NodeEvent(kind=kind, cause=cause, job=job, spare=spare)
            life, actions, _ = machine.step(life, event, now, policy)
            step = recall.step(history, event_key, now)
            since = now - policy.offence_seconds
            recent, degraded = ([o for o in some if o.at >= since] for some in (life.offences, life.degradations))
            state = history.state
            known = [
                [o for o, at in zip(some, when, strict=True) if at >= since]
                for some, when in (
                    (state.life.offences, history.offences),
                    (state.life.degradations, history.degradations),
                )
            ]
            assert comparable(state.life, *known) == comparable(life, recent, degraded)
            assert step.verbs == tuple(action.verb for action in actions)
            assert state.may_repair == machine.may_repair(life, policy)


def test_a_question_is_asked_of_the_machine_once() -> None:
    recall = Recall(Policy())
    one, other = recall.begin(Stage.READY), recall.begin(Stage.READY)
    failed: EventKey = (EventKind.FAILED, "gpu", "", False)
    assert recall.step(one, failed, 5.0) is recall.step(other, failed, 900.0)
    assert one.state is other.state
    assert (one.offences, other.offences) == ([5.0], [900.0])


def test_a_step_reports_whether_the_pool_counts_the_node_differently() -> None:
    recall = Recall(Policy())
    history = recall.begin(Stage.READY)
    degraded = recall.step(history, (EventKind.DEGRADED, "gpu", "", False), 1.0)
    assert (degraded.recount, degraded.offences, degraded.degradations) == (False, None, (None,))
    assert history.degradations == [1.0]
    failed = recall.step(history, (EventKind.FAILED, "gpu", "", False), 2.0)
    assert (failed.recount, failed.offences, failed.degradations) == (True, (None,), None)
    assert history.offences == [2.0]
    emptied = recall.step(history, (EventKind.EMPTIED, "gpu", "", False), 3.0)
    assert (emptied.recount, emptied.offences) == (False, None)
    assert (history.offences, history.degradations) == ([2.0], [1.0])
    spare = recall.begin(Stage.SPARE)
    assert recall.step(spare, (EventKind.PROMOTED, "", "", False), 4.0).recount


def test_only_an_offence_makes_the_record_forget() -> None:
    recall = Recall(Policy(offence_seconds=10.0))
    history = recall.begin(Stage.READY)
    recall.step(history, (EventKind.DEGRADED, "gpu", "", False), 0.0)
    recall.step(history, (EventKind.RECOVERED, "gpu", "", False), 50.0)
    assert history.degradations == [0.0]
    recall.step(history, (EventKind.DEGRADED, "nvlink", "", False), 60.0)
    assert history.degradations == [60.0]
    assert [one.cause for one in history.state.life.degradations] == ["nvlink"]


def test_what_is_just_recent_enough_is_kept() -> None:
    recall = Recall(Policy(offence_seconds=10.0))
    history = recall.begin(Stage.READY)
    for at, cause in ((0.0, "gpu"), (10.0, "nvlink")):
        recall.step(history, (EventKind.DEGRADED, cause, "", False), at)
    assert history.degradations == [0.0, 10.0]
    recall.step(history, (EventKind.DEGRADED, "gpu", "", False), 10.5)
    assert history.degradations == [10.0, 10.5]
    recall.step(history, (EventKind.DEGRADED, "nvlink", "", False), 20.5)
    assert history.degradations == [10.5, 20.5]


def test_a_record_starts_where_another_began() -> None:
    recall = Recall(Policy())
    assert recall.begin(Stage.READY).state is recall.begin(Stage.READY).state
    assert recall.begin(Stage.READY).state is not recall.begin(Stage.SPARE).state


def event_key(kind: EventKind, cause: str = "gpu") -> EventKey:
    return kind, cause, "a", False


def after(recall: Recall, stage: Stage, *kinds: EventKind) -> OffenceHistory:
    history = recall.begin(stage)
    for at, kind in enumerate(kinds, 1):
        recall.step(history, event_key(kind), float(at))
    return history


H = EventKind
TO_WORK_AND_BACK = (H.JOB_STARTED, H.JOB_ENDED, H.CLEANED, H.TEST_PASSED)


@pytest.mark.parametrize(
    ("kinds", "tested", "used", "fresh"),
    [
        ((), True, False, True),
        ((H.JOB_STARTED,), True, True, False),
        ((H.JOB_STARTED, H.JOB_STARTED, H.EMPTIED), True, True, False),
        (TO_WORK_AND_BACK, True, True, True),
        ((*TO_WORK_AND_BACK, H.EMPTIED, H.DEGRADED), True, True, True),
        ((*TO_WORK_AND_BACK, H.JOB_STARTED, H.DEGRADED), True, True, False),
        ((H.FAILED,), False, False, False),
        ((H.JOB_STARTED, H.FAILED), False, True, False),
    ],
)
def test_without_times_a_state_still_reports_tested_used_and_which_was_last(
    kinds: tuple[EventKind, ...], tested: bool, used: bool, fresh: bool
) -> None:
    life = after(Recall(Policy()), Stage.READY, *kinds).state.life
    assert (life.tested_at is not None, life.used_until is not None, life.freshly_tested) == (tested, used, fresh)


def test_equal_states_are_one_however_they_were_reached() -> None:
    recall = Recall(Policy())
    nothing = recall.begin(Stage.READY)
    recall.step(nothing, event_key(H.CLEANED), 1.0)
    assert nothing.state is recall.begin(Stage.READY).state
    once, twice = (after(recall, Stage.READY, *TO_WORK_AND_BACK * times).state for times in (1, 2))
    assert once is twice


def test_a_shortened_state_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(life: NodeState, **changes: object) -> NodeState:
        made.append(changes)
        return changed(life, **changes)

    monkeypatch.setattr("holdfast.fleet.decisions.lifecycle.step_cache.changed", counted)
    recall = Recall(Policy(offence_seconds=10.0))
    counts = []
    for _ in range(2):
        history = recall.begin(Stage.READY)
        made.clear()
        for at in (0.0, 60.0):
            recall.step(history, event_key(H.DEGRADED, f"at {at}"), at)
        assert history.degradations == [60.0]
        counts.append(len(made))
    assert counts[0] > 0 == counts[1]


@pytest.mark.parametrize(
    ("now", "kept"), [(9.0, [1.0, 2.0]), (11.0, [1.0, 2.0]), (11.5, [2.0]), (12.0, [2.0]), (12.5, [])]
)
def test_a_failure_forgets_older_failures_of_a_node_that_was_never_degraded(now: float, kept: list[float]) -> None:
    recall = Recall(Policy(offence_seconds=10.0))
    history = recall.begin(Stage.READY)
    for at, kind in ((1.0, H.FAILED), (1.5, H.EMPTIED), (1.6, H.RELEASE), (2.0, H.TEST_FAILED)):
        recall.step(history, event_key(kind), at)
    recall.step(history, event_key(H.FAILED), now)  # a quarantined node: nothing new
    assert history.offences == kept
    assert len(history.state.life.offences) == len(kept)


def test_a_record_holds_as_many_times_as_the_node_holds_offences() -> None:
    recall = Recall(Policy(service_degraded=OnDegraded.NOTHING))
    history = recall.begin(Stage.READY)
    for at in range(40):
        recall.step(history, event_key(H.DEGRADED, f"check {at % 2}"), float(at))
    assert history.degradations == [float(at) for at in range(7, 40)]
    assert len(history.state.life.degradations) == 33
    failing = recall.begin(Stage.TESTING)
    for at in range(40):
        recall.step(failing, event_key(H.TEST_FAILED), float(at))
        recall.step(failing, event_key(H.RELEASE), float(at))
    assert failing.offences == [float(at) for at in range(7, 40)]
    assert len(failing.state.life.offences) == 33


@pytest.mark.parametrize(
    ("stage", "kind", "recount"),
    [
        (Stage.READY, H.JOB_STARTED, False),
        (Stage.READY, H.FAILED, True),  # out of service
        (Stage.QUARANTINED, H.REMOVE, True),  # out before and after, but no longer one of the pool
        (Stage.QUARANTINED, H.RELEASE, True),
        (Stage.DRAINING, H.EMPTIED, False),
        (Stage.SPARE, H.PROMOTED, True),
        (Stage.SPARE, H.RETEST, True),
        (Stage.READY, H.RETEST, False),
    ],
)
def test_what_changes_how_the_pool_counts_a_node(stage: Stage, kind: EventKind, recount: bool) -> None:
    recall = Recall(Policy())
    assert recall.step(recall.begin(stage), event_key(kind), 1.0).recount is recount
