"""Commands from the actor to the writer: claim due actions, record their outcomes."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.fleet.actions.backend import ActionOutcome as ActionOutcome
from holdfast.fleet.actions.backend import ActionResult
from holdfast.fleet.api.views.common import OrdersView
from holdfast.fleet.controller.orders import AGENT_LEASE_SECONDS, fits, order_view
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import RESETS, SCHEDULING
from holdfast.model.lifecycle import CLOSING, OUT_OF_SERVICE, Action, EventKind, NodeState, Stage, Verb
from holdfast.model.records import AuditEntry, Outcome, StoredAction
from holdfast.model.wire.order import Admission

MOST_CLAIMED = 200
MOST_ATTEMPTS = 5
LONGEST_PAUSE = 60.0
REPAIR_WAIT_SECONDS = 5.0  # pause before a repair step checks the scheduler's confirmation again
UNKNOWN_SECONDS = 30.0  # an action without an answer may still run; its back end is asked after this pause
STALE_SECONDS = 3_600.0  # an older uncordon is dropped and the node is tested
# A test changes nothing, so it runs in a dry run too. Without it no node would become ready.
ALWAYS_DONE = frozenset({Verb.RETEST})
AUDITED = frozenset({*SCHEDULING, *RESETS})  # actions in the audit log; a test changes nothing
TESTED = frozenset({Stage.READY, Stage.SPARE, Stage.ALLOCATED})


def claim(agent_verbs: frozenset[Verb], transaction: Transaction, fresh: Sequence[bool]) -> list[StoredAction]:
    """The actions that the controller must run now. Orders for agents are queued; actions that no longer fit the node
    end here."""
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
        elif action.verb in RESETS and (why := _may_be_in_use(action.node, transaction)):
            _put_off(transaction, stored, f"waits: {why}")
        elif action.verb is Verb.UNCORDON and transaction.now - action.at > STALE_SECONDS:
            _test_instead(transaction, stored)
        elif action.verb not in agent_verbs:
            due.append(_resting_on_its_test(stored, life))
        elif transaction.fleet.dry_run(action.node) and action.verb not in ALWAYS_DONE:
            message = f"would order the agent of {action.node} to {action.verb.value}"
            end(stored, ActionOutcome(result=ActionResult.DONE, message=message, dry_run=True), transaction, ())
        elif action.verb in RESETS:
            due.append(stored)  # the actor closes the node in its scheduler before the order goes out
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
    """Whether a cordon waited for the scheduler while its node left service. Its reason would hide the real cause."""
    left = max(life.since if life.stage is Stage.DRAINING else 0.0, *(one.at for one in life.offences[-1:]), 0.0)
    return action.verb is Verb.CORDON and life.stage in OUT_OF_SERVICE and action.at < left


def _may_be_in_use(node: str, transaction: Transaction) -> str:
    """Why a repair step may not touch the node yet."""
    fleet = transaction.fleet
    if not fleet.may_reset(node, transaction.now):
        who = "the scheduler" if fleet.scheduled else "its drain"
        return f"{who} has not confirmed that the node is drained and empty"
    closing = not fleet.scheduled and transaction.store.has_open_action(node, CLOSING)
    return "its drain has not ended" if closing else ""


def _put_off(transaction: Transaction, stored: StoredAction, why: str) -> None:
    """Postpones an action that was not begun. It may be postponed any number of times."""
    _try_again(transaction, stored, why, REPAIR_WAIT_SECONDS, stored.may_have_run)


def _try_again(transaction: Transaction, stored: StoredAction, why: str, pause: float, may_have_run: bool) -> None:
    transaction.store.finish(
        stored.id,
        Outcome.FAILED,
        why,
        transaction.epoch,
        transaction.now,
        retry_at=transaction.now + pause,
        may_have_run=may_have_run,
    )


def _resting_on_its_test(stored: StoredAction, life: NodeState | None) -> StoredAction:
    """The action with the time of the test that it relies on, if the node is in a stage that follows a passed test."""
    if life is None or life.stage not in TESTED:
        return stored
    return replace(stored, action=replace(stored.action, tested_at=life.tested_at))


def _test_instead(transaction: Transaction, stored: StoredAction) -> None:
    """Tests a node again instead of running an old request that admits work: after a long absence or a restored backup,
    the result that it relied on is out of date."""
    why = f"requested {transaction.now - stored.action.at:.0f} s ago and never carried out"
    _finish(transaction, stored, Outcome.ABANDONED, f"{why}: the node is tested again first")
    transaction.decide(
        transaction.fleet.operator(stored.action.node, EventKind.RETEST, why, "holdfast", transaction.now)
    )


def end(stored: StoredAction, performed: ActionOutcome, transaction: Transaction, fresh: Sequence[bool]) -> None:
    """Records the outcome in the history and in the state of the node. In a dry run the state continues as if the
    action had run."""
    if performed.not_now:
        _put_off(transaction, stored, performed.message)
        return
    ok = performed.result in (ActionResult.DONE, ActionResult.NOTHING_TO_DO)
    patient = stored.action.verb in SCHEDULING  # the scheduler may be away for hours, and the node must still be closed
    if not ok and performed.retryable and (patient or stored.attempts < MOST_ATTEMPTS):
        if stored.attempts >= MOST_ATTEMPTS:
            transaction.fleet.acted(stored.action.node, stored.action.verb, ok, performed.message, transaction.now)
        pause = max(
            min(2.0 ** min(stored.attempts, 10), LONGEST_PAUSE), UNKNOWN_SECONDS if performed.may_have_run else 0.0
        )
        _try_again(transaction, stored, performed.message, pause, performed.may_have_run)
        return
    outcome = Outcome.DRY_RUN if performed.dry_run else Outcome.DONE if ok else Outcome.FAILED
    unknown = performed.uncertain or (performed.may_have_run and performed.retryable)
    outcome = Outcome.ABANDONED if unknown else outcome
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
