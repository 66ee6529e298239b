"""What a node remembers: tests that count, offences, rungs, and who has it."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.lifecycle.memory import JOB, MOST_OFFENCES, OPERATOR, counts, note
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage

H = EventKind
NOW = 1_000_000.0
POLICY = Policy(suite="7", offence_seconds=100.0, repeat_offences=2)


def noted(node: NodeState, kind: EventKind, **more: object) -> NodeState:
    return note(node, NodeEvent(kind=kind, **more), NOW, POLICY)  # type: ignore[arg-type]


def offences(*causes: str, ago: float = 50.0) -> tuple[Offence, ...]:
    return tuple(Offence(at=NOW - ago, cause=cause) for cause in causes)


@pytest.mark.parametrize(
    "suite, began, used_until, counted",
    [
        ("7", 11.0, 10.0, True),
        ("", 11.0, 10.0, True),  # one that does not say its suite is taken to be the current one
        ("6", 11.0, 10.0, False),
        ("7", 10.0, 10.0, False),  # began as the workload ended
        ("7", 9.0, 10.0, False),
        ("7", None, 10.0, True),
        ("7", 5.0, None, True),  # no workload yet
        ("6", None, None, False),
    ],
)
def test_a_pass_counts_if_the_current_suite_began_after_the_workload(
    suite: str, began: float | None, used_until: float | None, counted: bool
) -> None:
    node = NodeState(name="n1", stage=Stage.TESTING, used_until=used_until)
    event = NodeEvent(kind=H.TEST_PASSED, suite=suite, began=began)
    assert counts(node, event, POLICY) is counted
    assert (note(node, event, NOW, POLICY).tested_at is not None) is counted


def test_a_pass_clears_what_the_node_suffered_from() -> None:
    sick = NodeState(
        name="n1", stage=Stage.TESTING, tests=2, degraded_by="gpu.ecc", failed=True, asked_at=5.0, cause="gpu.xid",
        held="loop/c2", held_since=9.0, offences=offences("gpu.xid"), repair_step=2,
    )  # fmt: skip
    passed = noted(sick, H.TEST_PASSED, began=NOW - 60)
    assert passed == replace(
        sick, tested_at=NOW - 60, tested_suite="7", tests=0, degraded_by="", failed=False, asked_at=None, cause="",
        held="", held_since=0.0,
    )  # fmt: skip
    assert noted(sick, H.TEST_PASSED).tested_at == NOW


def test_a_pass_outside_a_test_is_not_noted() -> None:
    ready = NodeState(name="n1", stage=Stage.READY, tested_at=5.0)
    assert noted(ready, H.TEST_PASSED) is ready


def test_a_job_that_starts_or_ends_makes_the_last_test_old() -> None:
    node = NodeState(name="n1", stage=Stage.READY, tested_at=NOW - 1, jobs=frozenset({"a"}))
    started = noted(node, H.JOB_STARTED, job="b")
    assert (started.jobs, started.used_until, started.freshly_tested) == ({"a", "b"}, NOW, False)
    ended = noted(started, H.JOB_ENDED, job="a")
    assert (ended.jobs, ended.used_until) == ({"b"}, NOW)


@pytest.mark.parametrize(
    "before, cause, repair_step",
    [
        ((), "gpu.xid", 0),
        (offences("gpu.xid"), "gpu.xid", 5),  # the same cause twice in a row goes on climbing
        (offences("gpu.ecc"), "gpu.xid", 0),
        (offences("gpu.xid", "gpu.ecc"), "gpu.xid", 1),  # a third offence, of more than two: a known repeat offender
        (offences("gpu.ecc", "gpu.xid"), "gpu.xid", 5),
        (offences("gpu.xid", ago=100.0), "gpu.xid", 5),  # just recent enough
        (offences("gpu.xid", ago=100.1), "gpu.xid", 0),  # forgotten
        (offences("gpu.ecc", "nvlink.lanes", ago=100.1), "gpu.xid", 0),
    ],
)
def test_where_on_the_ladder_a_failure_starts(before: tuple[Offence, ...], cause: str, repair_step: int) -> None:
    node = NodeState(
        name="n1", stage=Stage.READY, repair_step=5, offences=before, held="loop/c2", tests=2, asked_at=4.0
    )
    failed = noted(node, H.FAILED, cause=cause)
    assert failed.repair_step == repair_step
    assert failed.offences == (*before, Offence(at=NOW, cause=cause))
    assert (failed.failed, failed.cause, failed.held, failed.tests, failed.asked_at) == (True, cause, "", 0, None)


def test_a_repeat_offender_by_its_score_starts_one_repair_step_up() -> None:
    node = NodeState(name="n1", stage=Stage.READY)
    assert noted(node, H.FAILED, cause="gpu.xid", repeat_offender="score 5").repair_step == 1


def test_a_failure_of_a_node_that_is_out_already_is_not_an_offence() -> None:
    out = NodeState(name="n1", stage=Stage.QUARANTINED)
    assert noted(out, H.FAILED, cause="gpu.xid") is out


def test_the_last_offences_are_kept_and_older_ones_forgotten() -> None:
    many = tuple(Offence(at=float(i), cause="gpu.ecc") for i in range(MOST_OFFENCES + 5))
    kept = noted(NodeState(name="n1", stage=Stage.READY, offences=many), H.FAILED, cause="gpu.xid").offences
    assert MOST_OFFENCES == 32
    assert kept == (*many[5:], Offence(at=NOW, cause="gpu.xid"))


def test_a_test_that_could_not_see_is_counted_while_testing_only() -> None:
    testing = NodeState(name="n1", stage=Stage.TESTING, tests=1, asked_at=4.0)
    assert noted(testing, H.TEST_UNKNOWN) == replace(testing, tests=2, asked_at=None)
    ready = NodeState(name="n1", stage=Stage.READY, tests=1)
    assert noted(ready, H.TEST_UNKNOWN) is ready


def test_a_degradation_is_counted_once_until_the_node_recovers() -> None:
    node = NodeState(name="n1", stage=Stage.READY)
    degraded = noted(node, H.DEGRADED, cause="gpu.ecc")
    assert (degraded.degraded_by, degraded.degradations) == ("gpu.ecc", offences("gpu.ecc", ago=0.0))
    assert noted(degraded, H.DEGRADED, cause="gpu.ecc") is degraded
    assert len(noted(degraded, H.DEGRADED, cause="gpu.xid").degradations) == 2


@pytest.mark.parametrize(
    "holder, cause, kept",
    [
        ("", "gpu.ecc", ("gpu.clocks", "gpu.xid", "gpu.ecc")),  # it recovered by itself: the degradation was its own
        ("loop/c2", "gpu.ecc", ("gpu.clocks", "gpu.xid")),  # a symptom of the loop
        ("loop/c2", "gpu.xid", ("gpu.clocks", "gpu.xid", "gpu.ecc")),  # another check's is not taken back
    ],
)
def test_only_a_symptom_of_something_else_is_taken_back(holder: str, cause: str, kept: tuple[str, ...]) -> None:
    node = NodeState(name="n1", degraded_by="gpu.ecc", degradations=offences("gpu.clocks", "gpu.xid", "gpu.ecc"))
    after = noted(node, H.RECOVERED, cause=cause, holder=holder)
    assert after.degraded_by == ""
    assert tuple(one.cause for one in after.degradations) == kept


def test_a_recovery_with_nothing_to_take_back_is_noted_all_the_same() -> None:
    node = NodeState(name="n1", degraded_by="gpu.ecc")
    assert noted(node, H.RECOVERED, cause="gpu.ecc", holder="loop/c2") == replace(node, degraded_by="")


def test_a_climb_is_one_repair_step() -> None:
    assert noted(NodeState(name="n1", repair_step=1), H.NEXT_REPAIR).repair_step == 2


def test_a_hold_starts_once_and_answers_the_test_that_was_asked_for() -> None:
    node = NodeState(name="n1", stage=Stage.TESTING, reason="failed", asked_at=4.0)
    held = noted(node, H.HELD, holder="loop/c2", reason="the loop is hot")
    assert held == replace(node, held="loop/c2", held_since=NOW, reason="the loop is hot", asked_at=None)
    later = note(replace(held, asked_at=6.0), NodeEvent(kind=H.HELD, holder="loop/c2", reason="still"), NOW + 9, POLICY)
    assert later == held


def test_a_node_is_freed_of_what_held_it_only() -> None:
    held = NodeState(name="n1", held="loop/c2", held_since=4.0, reason="the loop is hot")
    assert noted(held, H.FREED, reason="the loop is cool") == replace(
        held, held="", held_since=0.0, reason="the loop is cool"
    )
    free = NodeState(name="n1", reason="ready")
    assert noted(free, H.FREED, reason="the loop is cool") is free


@pytest.mark.parametrize(
    "cause, stage, words",
    [
        (OPERATOR, Stage.QUARANTINED, "mine"),
        (OPERATOR, Stage.TESTING, "theirs"),  # back in the machine's hands
        ("gpu.xid", Stage.QUARANTINED, "theirs"),
    ],
)
def test_an_operators_reason_stays_while_the_operator_holds_the_node(cause: str, stage: Stage, words: str) -> None:
    node = NodeState(name="n1", stage=stage, cause=cause, reason="mine", held="pool/a")
    assert noted(node, H.HELD, holder="loop/c2", reason="theirs").reason == words
    assert noted(node, H.FREED, reason="theirs").reason == words


def test_a_person_takes_a_node_whatever_held_it() -> None:
    node = NodeState(name="n1", stage=Stage.ALLOCATED, cause="gpu.xid", reason="old", held="loop/c2", held_since=4.0)
    taken = noted(node, H.QUARANTINE, reason="mine")
    assert taken == replace(node, cause=OPERATOR, reason="mine", held="", held_since=0.0)
    assert noted(node, H.QUARANTINE).reason == "old"
    leaving = noted(node, H.REMOVE, reason="mine")
    assert leaving.leaving
    assert not noted(leaving, H.QUARANTINE).leaving
    gone = NodeState(name="n1", stage=Stage.REMOVED)
    assert noted(gone, H.REMOVE) is gone


def test_one_that_is_brought_back_no_longer_leaves() -> None:
    leaving = NodeState(name="n1", stage=Stage.REMOVED, leaving=True)
    assert noted(leaving, H.RELEASE) == replace(leaving, leaving=False)
    testing = NodeState(name="n1", stage=Stage.TESTING, leaving=True)
    assert noted(testing, H.RELEASE) is testing
    stays = NodeState(name="n1", stage=Stage.REMOVED)
    assert noted(stays, H.RELEASE) is stays


@pytest.mark.parametrize(
    "stage, tested_at, kept",
    [(Stage.READY, 5.0, True), (Stage.ALLOCATED, 5.0, True), (Stage.SPARE, 5.0, False), (Stage.CLEANING, 5.0, False)],
)
def test_a_job_on_a_node_that_takes_none_withdraws_its_test(stage: Stage, tested_at: float, kept: bool) -> None:
    node = NodeState(name="n1", stage=stage, tested_at=tested_at, tested_suite="7")
    started = noted(node, H.JOB_STARTED, job="a")
    assert (started.tested_at, started.tested_suite) == ((5.0, "7") if kept else (None, ""))


def test_a_removed_node_is_not_held_and_one_that_an_operator_releases_no_longer() -> None:
    removed = NodeState(name="n1", stage=Stage.REMOVED, cause=OPERATOR, reason="sold")
    assert noted(removed, H.HELD, holder="feed/f0", reason="the feed is out") == removed
    ours = NodeState(name="n1", stage=Stage.QUARANTINED, cause=OPERATOR, reason="a look at the fan")
    released = noted(noted(ours, H.HELD, holder="feed/f0", reason="the feed is out"), H.RELEASE)
    assert (released.held, released.held_since) == ("", 0.0)
    failed = NodeState(name="n1", stage=Stage.QUARANTINED, cause="gpu.xid", held="feed/f0", held_since=5.0)
    assert noted(failed, H.RELEASE).held == "feed/f0", "what holds a failed node outlasts its release"


@pytest.mark.parametrize(
    ("stage", "cause", "doubted_at"),
    [
        (Stage.READY, JOB, NOW),
        (Stage.READY, "gpu.xid", None),
        (Stage.RESETTING, JOB, None),  # it is tested afterwards in any case
        (Stage.REMOVED, JOB, None),
    ],
)
def test_a_job_that_asks_for_a_test_puts_a_node_in_doubt_that_may_be_tested(
    stage: Stage, cause: str, doubted_at: float | None
) -> None:
    assert noted(NodeState(name="n1", stage=stage), H.RETEST, cause=cause).doubted_at == doubted_at
