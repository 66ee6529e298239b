"""A step, the node after it and its actions are one: all of it is stored or nothing."""

import sqlite3
from dataclasses import replace

import pytest

from holdfast.fleet.store import Store, StoreError
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, Verb
from holdfast.model.records import Outcome

from .engines import ON_SQLITE
from .lives import arrived, proposed, step, waiting


@pytest.fixture
def epoch(store: Store) -> int:
    taken = store.lead("test", 1000, now=100.0)
    assert taken is not None
    return taken


def test_a_node_comes_back_as_it_was_saved(store: Store, epoch: int) -> None:
    node = NodeState(
        name="n1",
        pool="train",
        stage=Stage.ALLOCATED,
        since=5.0,
        tested_at=4.5,
        jobs=frozenset({"j1", "j2"}),
        offences=(Offence(at=1.0, cause="gpu.xid"),),
        place={"rack": "r7", "leaf": "l2"},
    )
    store.transit_all([arrived(node)], epoch)
    assert store.nodes() == [node]
    store.transit_all([arrived(replace(node, stage=Stage.DRAINING))], epoch)
    assert store.nodes() == [replace(node, stage=Stage.DRAINING)]


def test_a_step_is_stored_with_its_node_its_event_and_its_actions(store: Store, epoch: int) -> None:
    made = step("n1", verbs=(Verb.CORDON, Verb.RETEST))
    store.transit_all([made], epoch)
    assert store.nodes() == [made.node]
    assert store.transitions(since=0.0) == [replace(made.transition, epoch=epoch)]
    assert [(one.action, one.state) for one in waiting(store)] == [(a, Outcome.PROPOSED) for a in made.actions]


def test_transitions_are_reported_from_a_time_on_oldest_first(store: Store, epoch: int) -> None:
    store.transit_all([step("n1", at=at) for at in (30.0, 10.0, 20.0)], epoch)
    assert [result.at for result in store.transitions(since=15.0)] == [20.0, 30.0]


def test_the_same_command_proposed_twice_is_one_action(store: Store, epoch: int) -> None:
    proposed(store, epoch, "n1", at=100.0)
    proposed(store, epoch, "n1", at=100.0)
    assert len(waiting(store)) == 1
    assert len(store.transitions(0.0)) == 2


def test_a_step_that_cannot_be_stored_leaves_nothing_behind(store: Store, epoch: int) -> None:
    good, bad = step("n1"), step("n2")
    event = NodeEvent(kind=EventKind.FAILED, began=1.0)
    broken = replace(bad, transition=replace(bad.transition, event=event, at=None))  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        store.transit_all([good, broken], epoch)
    assert (store.nodes(), store.transitions(0.0), store.actions()) == ([], [], [])
    store.transit_all([good, bad], epoch)
    assert [node.name for node in store.nodes()] == ["n1", "n2"]


def test_actions_are_claimed_oldest_first_and_by_one_claim_only(store: Store, epoch: int) -> None:
    proposed(store, epoch, "n1", "n2", "n3")
    assert [one.action.node for one in store.claim(epoch, 2, now=100.0)] == ["n1", "n2"]
    assert [one.action.node for one in store.claim(epoch, 9, now=100.0)] == ["n3"]
    assert store.claim(epoch, 9, now=100.0) == []


def test_a_claim_that_was_never_finished_can_be_claimed_again_after_its_lease(store: Store, epoch: int) -> None:
    proposed(store, epoch, "n1")
    store.claim(epoch, 1, now=100.0, lease_seconds=60)
    assert store.claim(epoch, 1, now=159.0) == []
    (again,) = store.claim(epoch, 1, now=160.0)
    assert (again.attempts, again.state) == (2, Outcome.CLAIMED)


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.FAILED, Outcome.DRY_RUN, Outcome.ABANDONED])
def test_an_outcome_is_final_and_reported_once(store: Store, epoch: int, outcome: Outcome) -> None:
    proposed(store, epoch, "n1")
    (claimed,) = store.claim(epoch, 1, now=100.0)
    assert store.finish(claimed.id, outcome, "said so", epoch, 101.0)
    assert not store.finish(claimed.id, Outcome.DONE, "again", epoch, 102.0)
    assert store.claim(epoch, 1, now=9e9) == []
    (kept,) = store.actions("n1")
    assert (kept.state, kept.detail) == (outcome, "said so")


def test_a_failure_to_be_tried_again_waits_for_its_time_and_counts(store: Store, epoch: int) -> None:
    proposed(store, epoch, "n1")
    (first,) = store.claim(epoch, 1, now=100.0)
    assert store.finish(first.id, Outcome.FAILED, "slurmctld did not answer", epoch, 101.0, retry_at=130.0)
    assert store.claim(epoch, 1, now=129.0) == []
    (second,) = store.claim(epoch, 1, now=130.0)
    assert (second.id, second.attempts) == (first.id, 2)
    states = [line.detail["state"] for line in store.node_history("n1").lines if line.kind == "action"]
    assert states == ["claimed", "failed", "claimed", "proposed"]


def test_only_who_claimed_an_action_says_how_it_ended_but_anyone_leading_may_abandon_it(
    store: Store, epoch: int
) -> None:
    proposed(store, epoch, "n1")
    (one,) = waiting(store)
    with pytest.raises(StoreError, match="did not claim it"):
        store.finish(one.id, Outcome.DONE, "", epoch, 101.0)
    assert store.finish(one.id, Outcome.ABANDONED, "the breaker is open", epoch, 101.0)
    assert waiting(store) == []


def test_finishing_what_does_not_exist_or_not_finally_is_refused_in_one_sentence(store: Store, epoch: int) -> None:
    with pytest.raises(StoreError, match="action 77: no action has this number"):
        store.finish(77, Outcome.DONE, "", epoch, 1.0)
    with pytest.raises(StoreError, match="claimed is not an outcome"):
        store.finish(77, Outcome.CLAIMED, "", epoch, 1.0)


@ON_SQLITE
def test_a_reader_in_another_process_is_never_locked_out_by_the_writer(store: Store, epoch: int, url: str) -> None:
    proposed(store, epoch, "n1")
    with store._writing():
        other = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)
        assert other.execute("SELECT count(*) FROM nodes").fetchone() == (1,)
        other.close()
        assert len(store.nodes()) == 1
