"""What Slurm shows against what a node's stage asks: reminders, marks and fresh daemons, in virtual time."""

from dataclasses import replace

import pytest

from holdfast.fleet.decisions.slurm_reconciler import AGAIN_SECONDS, SlurmReconciler, ended_repairs
from holdfast.model.lifecycle import NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus

READY = NodeState(name="n1", stage=Stage.READY, since=100.0, tested_at=90.0, used_until=80.0, reason="passed")
OPEN = NodeStatus(node="n1", accepts_work=True, cordoned=False, down=False, busy=False, up_since=10.0)
OURS = replace(OPEN, accepts_work=False, cordoned=True, ours=True, note="holdfast: gpu.xid: Xid 79")
MARKED = replace(OURS, note="holdfast: untested: job 7 ended here", marked_at=50.0)
THEIRS = replace(OURS, ours=False, note="ana: untested: swapping the fan tray")


def due(keeper: SlurmReconciler, status: NodeStatus, life: NodeState, now: float) -> list[Verb]:
    return [action.verb for action in keeper.due([status], {"n1": life}, now)]


@pytest.mark.parametrize(
    ("status", "stage", "cause", "verb"),
    [
        (OPEN, Stage.TESTING, "", Verb.CORDON),
        (OPEN, Stage.CLEANING, "gpu.xid", Verb.CORDON),
        (OPEN, Stage.QUARANTINED, "gpu.xid", Verb.DRAIN),
        (OPEN, Stage.REMOVED, "", Verb.CORDON),
        (OURS, Stage.READY, "", Verb.UNCORDON),
        (MARKED, Stage.READY, "", Verb.UNCORDON),
    ],
)
def test_what_is_missing_for_a_while_is_asked_for_again_and_not_sooner(
    status: NodeStatus, stage: Stage, cause: str, verb: Verb
) -> None:
    keeper, life = SlurmReconciler(), replace(READY, stage=stage, cause=cause, since=1000.0)
    assert due(keeper, status, life, 1000.0) == []
    assert due(keeper, status, life, 1000.0 + AGAIN_SECONDS - 1) == []
    assert due(keeper, status, life, 1000.0 + AGAIN_SECONDS) == [verb]
    assert due(keeper, status, life, 1001.0 + AGAIN_SECONDS) == []
    assert due(keeper, status, life, 1000.0 + 3 * AGAIN_SECONDS - 1) == [], "twice as long as before"
    assert due(keeper, status, life, 1000.0 + 3 * AGAIN_SECONDS) == [verb]


def test_a_node_opened_by_hand_is_closed_at_once() -> None:
    """An admin resumes a node that was quarantined, or held, long ago."""
    quarantined = replace(READY, stage=Stage.QUARANTINED, cause="gpu.xid", since=100.0)
    assert due(SlurmReconciler(), OPEN, quarantined, 1000.0) == [Verb.DRAIN]
    held = replace(READY, held="leaf/l1", held_since=980.5, tested_at=None)
    assert due(SlurmReconciler(), OPEN, held, 1000.0) == []
    assert due(SlurmReconciler(), OPEN, replace(held, held_since=980.0), 1000.0) == [Verb.CORDON]


def test_a_node_that_is_held_stays_drained_whoever_drained_it() -> None:
    """The health check on the node and the controller agree: nothing is lifted before a test."""
    held = replace(READY, held="leaf/l1", tested_at=None)
    keeper = SlurmReconciler()
    assert [due(keeper, OURS, held, at) for at in (1000.0, 1100.0, 2000.0)] == [[], [], []]


def test_a_drain_on_a_node_that_is_down_is_not_lifted_and_not_asked_for_again_and_again() -> None:
    keeper = SlurmReconciler()
    down = replace(OURS, down=True)
    assert [due(keeper, down, READY, at) for at in (1000.0, 1100.0, 2000.0)] == [[], [], []]


def test_reminders_that_do_not_help_become_rare() -> None:
    keeper, life = SlurmReconciler(), replace(READY, stage=Stage.QUARANTINED, cause="gpu.xid", since=1000.0)
    times = [at for at in range(1000, 4200, 5) if due(keeper, OPEN, life, float(at))]
    assert times == [1020, 1060, 1140, 1300, 1620, 2260, 2900, 3540, 4180]


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        (OPEN, Stage.READY),
        (OPEN, Stage.ALLOCATED),
        (THEIRS, Stage.READY),
        (THEIRS, Stage.TESTING),
        (OURS, Stage.TESTING),
        (replace(OPEN, accepts_work=False, down=True), Stage.QUARANTINED),
    ],
)
def test_what_is_as_it_should_be_or_is_anothers_is_left_alone(status: NodeStatus, stage: Stage) -> None:
    keeper, life = SlurmReconciler(), replace(READY, stage=stage)
    assert due(keeper, status, life, 1000.0) == []
    assert due(keeper, status, life, 2000.0) == []


def untested(keeper: SlurmReconciler, status: NodeStatus, life: NodeState = READY) -> list[str]:
    return [why for _, why in keeper.untested([status], {"n1": life})]


def test_a_mark_newer_than_the_test_means_that_the_node_was_used() -> None:
    """Also one that came while the test's result was on its way, before the node was called ready."""
    for marked_at in (90.1, 99.0, 101.0):
        assert untested(SlurmReconciler(), replace(MARKED, marked_at=marked_at)) == ["untested: job 7 ended here"]
    assert untested(SlurmReconciler(), replace(MARKED, marked_at=101.0), replace(READY, stage=Stage.SPARE))
    assert untested(SlurmReconciler(), MARKED) == [], "an undrain that has not been done yet"
    assert untested(SlurmReconciler(), replace(MARKED, marked_at=90.0)) == []
    assert untested(SlurmReconciler(), THEIRS) == []
    assert untested(SlurmReconciler(), replace(MARKED, marked_at=101.0), replace(READY, stage=Stage.TESTING)) == []


def test_a_slurmd_that_started_anew_is_tested_once() -> None:
    keeper = SlurmReconciler()
    assert untested(keeper, OPEN) == []
    assert untested(keeper, replace(OPEN, up_since=20.0)) == ["slurmd started after its last test"]
    assert untested(keeper, replace(OPEN, up_since=20.0)) == []
    assert untested(keeper, replace(OPEN, up_since=None)) == []


def test_at_the_first_look_the_start_is_held_against_the_last_test() -> None:
    assert untested(SlurmReconciler(), replace(OPEN, up_since=95.0)) == ["slurmd started after its last test"]
    assert untested(SlurmReconciler(), replace(OPEN, up_since=90.0)), (
        "it may have been 90.9, and the test began at 90.0"
    )
    assert untested(SlurmReconciler(), replace(OPEN, up_since=85.0)) == []


def test_a_closed_node_is_drained_although_a_reservation_or_silence_keeps_work_off_for_now() -> None:
    resetting = replace(READY, stage=Stage.RESETTING, cause="gpu.xid", since=100.0)
    resumed = replace(OPEN, accepts_work=False)
    assert due(SlurmReconciler(), resumed, resetting, 1000.0) == [Verb.DRAIN]
    assert due(SlurmReconciler(), replace(resumed, down=True), resetting, 1000.0) == []
    assert due(SlurmReconciler(), replace(resumed, known=False), resetting, 1000.0) == []


@pytest.mark.parametrize("stage", list(Stage))
def test_a_reservation_ends_with_its_repair_step_and_not_before(stage: Stage) -> None:
    lives = {"n1": replace(READY, stage=stage, since=100.0)}
    ended = [] if stage is Stage.RESETTING else ["holdfast_n1_7"]
    assert ended_repairs({"holdfast_n1_7": "n1"}, lives, began=100.1, running=()) == ended
    assert ended_repairs({"holdfast_n1_7": "n1"}, lives, began=100.1, running={"n1"}) == [], "an operator took it over"
    assert ended_repairs({"holdfast_n1_7": "n1"}, lives, began=100.0, running=()) == [], (
        "its stage is newer than the look"
    )
    assert ended_repairs({"holdfast_n2_7": "n2"}, lives, began=100.0, running=()) == ["holdfast_n2_7"], (
        "of a node that is forgotten"
    )
