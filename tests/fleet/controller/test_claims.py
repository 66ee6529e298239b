"""A repair step that may not touch its node now waits for as long as it takes, and counts as no attempt that failed."""

from pathlib import Path

from holdfast.fleet.actions.backend import done, failed, not_now
from holdfast.fleet.controller import claims
from holdfast.fleet.controller.claims import MOST_ATTEMPTS, REPAIR_WAIT_SECONDS
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep, StoredAction, Transition
from tests.stores import new_store

NODE = NodeState(name="n1", stage=Stage.RESETTING, cause="gpu.xid", repair_step=1, failed=True)


class Site:
    def __init__(self, folder: Path) -> None:
        self.store = Store.open(new_store(folder / "holdfast.db"))
        self.epoch = self.store.lead("one", 1e9) or 0
        self.fleet = Fleet(Policy(dry_run=False), [NODE])
        reset = Action(node="n1", verb=Verb.RESET_GPU, reason="Xid 79", at=1.0)
        event = NodeEvent(kind=EventKind.NEXT_REPAIR)
        moved = Transition(node="n1", at=1.0, before=NODE.stage, after=NODE.stage, event=event, reason="")
        self.store.transit_all([LifecycleStep(node=NODE, transition=moved, actions=(reset,))], self.epoch)

    def at(self, now: float) -> Transaction:
        return Transaction(self.store, self.fleet, PendingOrders(), self.epoch, now)


def test_a_step_that_waits_is_due_again_soon_however_often(tmp_path: Path) -> None:
    site = Site(tmp_path)
    now = 10.0
    for _ in range(2 * MOST_ATTEMPTS):
        [stored] = claims.claim(frozenset(), site.at(now), ())
        claims.end(stored, not_now("n1 is IDLE in Slurm"), site.at(now), ())
        assert claims.claim(frozenset(), site.at(now + REPAIR_WAIT_SECONDS - 0.1), ()) == []
        now += REPAIR_WAIT_SECONDS
    assert site.fleet.nodes["n1"].stage is Stage.RESETTING
    [shown] = site.store.actions("n1", 10)
    assert shown.detail == "n1 is IDLE in Slurm"


def test_a_step_that_fails_ends_after_some_attempts(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for number in range(MOST_ATTEMPTS):
        [stored] = claims.claim(frozenset(), site.at(1_000.0 * (number + 1)), ())
        transaction = site.at(1_000.0 * (number + 1))
        claims.end(stored, failed("no answer", retryable=True), transaction, ())
    assert site.fleet.nodes["n1"].stage is Stage.QUARANTINED
    assert transaction.ended == [("reset_gpu", "failed")]


def drain_of(site: Site, at: float) -> None:
    drain = Action(node="n1", verb=Verb.DRAIN, reason="Xid 79", at=at)
    moved = Transition(
        node="n1", at=at, before=NODE.stage, after=NODE.stage, event=NodeEvent(kind=EventKind.FAILED), reason=""
    )
    site.store.transit_all([LifecycleStep(node=NODE, transition=moved, actions=(drain,))], site.epoch)


def claimed(site: Site, now: float) -> dict[Verb, StoredAction]:
    return {one.action.verb: one for one in claims.claim(frozenset(), site.at(now), ())}


def test_without_a_scheduler_a_step_waits_until_the_drain_has_ended_well(tmp_path: Path) -> None:
    site = Site(tmp_path)
    drain_of(site, 0.5)
    first = claimed(site, 10.0)
    assert first.keys() == {Verb.DRAIN}, "the drain has not ended"
    refused = site.at(10.0)
    claims.end(first[Verb.DRAIN], failed("no permission", retryable=False), refused, ())
    assert [(one.verb, one.outcome) for one in refused.audit] == [("drain", "failed")]
    assert site.fleet.incidents.open["node/n1/scheduler"].cause == "action.drain"
    assert claimed(site, 20.0) == {}, "work may still start on the node"
    drain_of(site, 21.0)
    again = claimed(site, 30.0)
    assert again.keys() == {Verb.DRAIN}
    claims.end(again[Verb.DRAIN], done("drained"), site.at(30.0), ())
    assert not site.fleet.incidents.open
    assert claimed(site, 40.0).keys() == {Verb.RESET_GPU}
