"""Commands from the actor to the writer: claim due actions, record their outcomes."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.fleet.actions.backend import ActionOutcome as ActionOutcome
from holdfast.fleet.actions.backend import ActionResult
from holdfast.fleet.api.views.common import OrdersView
from holdfast.fleet.controller.orders import AGENT_LEASE_SECONDS, fits, order_view
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import RESETS, SCHEDULING
from holdfast.model.lifecycle import OUT_OF_SERVICE, Action, EventKind, NodeState, Stage, Verb
from holdfast.model.records import AuditEntry, Outcome, StoredAction
from holdfast.model.wire.order import Admission

MOST_CLAIMED = 200
MOST_ATTEMPTS = 5
LONGEST_PAUSE = 60.0
REPAIR_WAIT_SECONDS = 5.0  # a repair step that waits for the scheduler's confirmation is looked at again so soon
STALE_SECONDS = 3_600.0  # an uncordon that is older is not believed
# A test changes nothing, so it is asked for in a dry run too: without one no node would ever be seen to be ready.
ALWAYS_DONE = frozenset({Verb.RETEST})
AUDITED = frozenset({*SCHEDULING, *RESETS})  # what is done to a node without an operator; a test changes nothing
TESTED = frozenset({Stage.READY, Stage.SPARE, Stage.ALLOCATED})


def claim(agent_verbs: frozenset[Verb], transaction: Transaction, fresh: Sequence[bool]) -> list[StoredAction]:
    """What is to be performed from here now. Orders for agents are laid ready; what makes no sense any more ends."""
    leases = dict.fromkeys(agent_verbs, AGENT_LEASE_SECONDS)
    due = []
    for stored in transaction.store.claim(transaction.epoch, MOST_CLAIMED, transaction.now, leases=leases):
        action = stored.action
        life = transaction.fleet.nodes.get(action.node)
        if life is not None and _superseded(action, life):
            _finish(transaction, stored, Outcome.ABANDONED, "the drain that came later says more")
        elif life is None or not fits(action.verb, life):
            now = "forgotten" if life is None else life.stage.value
            _finish(transaction, stored, Outcome.ABANDONED, f"the node is {now} now")
        elif action.verb in RESETS and not transaction.fleet.may_reset(action.node, transaction.now):
            _put_off(transaction, stored, "waits: the scheduler has not confirmed that the node is drained and empty")
        elif action.verb is Verb.UNCORDON and transaction.now - action.at > STALE_SECONDS:
            _test_instead(transaction, stored)
        elif action.verb not in agent_verbs:
            due.append(_resting_on_its_test(stored, life))
        elif transaction.fleet.dry_run(action.node) and action.verb not in ALWAYS_DONE:
            message = f"would order the agent of {action.node} to {action.verb.value}"
            end(stored, ActionOutcome(result=ActionResult.DONE, message=message, dry_run=True), transaction, ())
        elif action.verb in RESETS:
            due.append(stored)  # the actor closes the node in its scheduler, then has the order given
        else:
            transaction.orders.give(stored)
    return due


def give(stored: StoredAction, transaction: Transaction, fresh: Sequence[bool]) -> None:
    """An order for the node's agent, handed over with the answer to its next report."""
    transaction.orders.give(stored)


def open_orders(node: str, most: int, transaction: Transaction, fresh: Sequence[bool]) -> OrdersView:
    return OrdersView(orders=tuple(order_view(one) for one in transaction.orders.open(node)[:most]))


def admission(node: str, transaction: Transaction, fresh: Sequence[bool]) -> Admission:
    """Whether work may start on a node: the one answer that scheduler, agent and prolog follow."""
    if node not in transaction.fleet.nodes:
        return Admission(node=node, allowed=False, reason="the controller does not know this node")
    why = transaction.fleet.closed(node)
    return Admission(node=node, allowed=not why, reason=why)


def _superseded(action: Action, life: NodeState) -> bool:
    """A cordon that waited for the scheduler, of a node that has left service since: its note would hide the cause."""
    left = max(life.since if life.stage is Stage.DRAINING else 0.0, *(one.at for one in life.offences[-1:]), 0.0)
    return action.verb is Verb.CORDON and life.stage in OUT_OF_SERVICE and action.at < left


def _put_off(transaction: Transaction, stored: StoredAction, why: str) -> None:
    """As often as it takes: it was not begun."""
    again = transaction.now + REPAIR_WAIT_SECONDS
    transaction.store.finish(stored.id, Outcome.FAILED, why, transaction.epoch, transaction.now, retry_at=again)


def _resting_on_its_test(stored: StoredAction, life: NodeState | None) -> StoredAction:
    """What a passed test allows is allowed as of when that test began."""
    if life is None or life.stage not in TESTED:
        return stored
    return replace(stored, action=replace(stored.action, tested_at=life.tested_at))


def _test_instead(transaction: Transaction, stored: StoredAction) -> None:
    """After a long absence, or a restore from a backup, what we knew then is no reason to let work in now."""
    why = f"asked for {transaction.now - stored.action.at:.0f} s ago and never done"
    _finish(transaction, stored, Outcome.ABANDONED, f"{why}: the node is tested again first")
    transaction.decide(
        transaction.fleet.operator(stored.action.node, EventKind.RETEST, why, "holdfast", transaction.now)
    )


def end(stored: StoredAction, performed: ActionOutcome, transaction: Transaction, fresh: Sequence[bool]) -> None:
    """How it ended, into history and into the node's life. In a dry run the life goes on as if it had been done."""
    if performed.not_now:
        _put_off(transaction, stored, performed.message)
        return
    ok = performed.result in (ActionResult.DONE, ActionResult.NOTHING_TO_DO)
    patient = stored.action.verb in SCHEDULING  # the scheduler may be away for hours, and the node must still be closed
    if not ok and performed.retryable and (patient or stored.attempts < MOST_ATTEMPTS):
        if stored.attempts >= MOST_ATTEMPTS:
            transaction.fleet.acted(stored.action.node, stored.action.verb, ok, performed.message, transaction.now)
        again = transaction.now + min(2.0 ** min(stored.attempts, 10), LONGEST_PAUSE)
        transaction.store.finish(
            stored.id, Outcome.FAILED, performed.message, transaction.epoch, transaction.now, retry_at=again
        )
        return
    outcome = Outcome.DRY_RUN if performed.dry_run else Outcome.DONE if ok else Outcome.FAILED
    outcome = Outcome.ABANDONED if performed.uncertain else outcome
    if _finish(transaction, stored, outcome, performed.message):
        if stored.action.verb in AUDITED and performed.result is not ActionResult.NOTHING_TO_DO:
            transaction.audit.append(_audited(stored, outcome, performed.message, transaction.now))
        transaction.decide(
            transaction.fleet.acted(stored.action.node, stored.action.verb, ok, performed.message, transaction.now)
        )


def _audited(stored: StoredAction, outcome: Outcome, detail: str, now: float) -> AuditEntry:
    action = stored.action
    reason = f"{action.cause or action.reason}: {detail}"
    return AuditEntry(
        at=now,
        who="holdfast",
        role="controller",
        verb=action.verb.value,
        target=action.node,
        outcome=outcome.value,
        reason=reason,
    )


def begin(stored: StoredAction, transaction: Transaction, fresh: Sequence[bool]) -> bool:
    return transaction.store.begin(stored.id, transaction.epoch)


def _finish(transaction: Transaction, stored: StoredAction, outcome: Outcome, detail: str) -> bool:
    finished = transaction.store.finish(stored.id, outcome, detail, transaction.epoch, transaction.now)
    if finished:
        transaction.ended.append((stored.action.verb.value, outcome.value))
    return finished
