"""One step of a node's lifecycle: the table gives the next stage, the policy refines the cells that need it.

`step` returns the node, the actions and the reason. A pair that is not in the table changes nothing, and the reason
says so.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfast.fleet.decisions.lifecycle.memory import OPERATOR, counts, note
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, OnDrain, OnUnknown, OnUnknownTest, Policy
from holdfast.fleet.decisions.lifecycle.table import IN_SERVICE, TABLE, Move
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage, Verb, changed

_S, _H, _V = Stage, EventKind, Verb
SPARE_CAUSE = "spare"
OF_THE_AGENT = frozenset({"agent.state"})  # checks about the agent itself, not about the node
CLOSING = frozenset({Verb.CORDON, Verb.DRAIN})


def step(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> tuple[NodeState, list[Action], str]:
    """The node after the event, the actions, and the reason. An event without effect returns no action."""
    own = policy.of(node.pool)
    event = as_failure(node, event, now, own)
    if event.cause in own.shadow_checks and event.kind in (_H.FAILED, _H.DEGRADED):
        return node, [], f"{event.cause} is in shadow mode: {event.reason}"
    noted = note(node, event, now, own)
    move = TABLE.get((node.stage, event.kind))
    if move is None:
        return noted, [], f"{event.kind.value} changes nothing while {node.stage.value}"
    refine = _REFINEMENTS.get((node.stage, event.kind))
    if refine is not None:
        move = refine(noted, event, own, move)
    verbs = move.verbs
    if node.takes_work and not noted.takes_work and not set(verbs) & CLOSING:
        verbs = (*verbs, _V.CORDON)
    after = noted
    if move.to is not None and move.to is not node.stage:
        after = changed(noted, stage=move.to, since=now, reason=_reason(noted, event, move))
    if _V.RETEST in verbs:
        after = changed(after, asked_at=now)
    reason = f"{move.text}: {event.reason}" if event.reason else move.text
    cause = SPARE_CAUSE if move.to is _S.SPARE else event.cause
    return (
        after,
        [Action(node=node.name, verb=v, reason=reason, cause=cause, at=now, **_eviction(v, now, own)) for v in verbs],
        reason,
    )


def _eviction(verb: Verb, now: float, policy: Policy) -> dict[str, Any]:
    if verb is not _V.DRAIN:
        return {}
    return {"evict_at": policy.evict_at(now), "announce": policy.drain is OnDrain.CHECKPOINT}


def _reason(node: NodeState, event: NodeEvent, move: Move) -> str:
    """The reason after an event. A held node keeps the reason of its hold, and a node that an operator took out keeps
    the operator's reason."""
    if node.held or (event.kind is _H.EMPTIED and node.cause == OPERATOR):
        return node.reason
    return event.reason or move.text


def as_failure(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeEvent:
    """Turns a degradation into a failure if it is repeated too often, or always with `service_degraded = "fail"`.
    Checks of the agent itself do not count: a user who fills the agent's disk must not take out a healthy node."""
    if event.kind is not _H.DEGRADED or node.stage not in IN_SERVICE or node.degraded_by == event.cause:
        return event
    if event.cause in OF_THE_AGENT:
        return event
    since = now - policy.offence_seconds
    times = 1 + sum(one.cause == event.cause and one.at >= since for one in node.degradations)
    if policy.service_degraded is OnDegraded.FAIL:
        return replace(event, kind=_H.FAILED, reason=f"degraded: {event.reason}")
    if times >= policy.degraded_repeats and policy.service_degraded is not OnDegraded.NOTHING:
        return replace(event, kind=_H.FAILED, reason=f"degraded {times} times: {event.reason}")
    return event


def takes_out(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> bool:
    """Whether the event takes the node out of service."""
    return not node.out and step(node, event, now, policy)[0].out


def needs_operator(node: NodeState, policy: Policy) -> bool:
    """Whether the node waits for an operator: all automatic repair steps failed, or an operator took it out."""
    return node.cause in ("", OPERATOR) or node.repair_step >= _automatic(policy.of(node.pool))


def may_repair(node: NodeState, policy: Policy) -> bool:
    """Whether a repair step, or the ticket after the last one, may begin; never in an operator's quarantine."""
    return node.cause not in ("", OPERATOR) and node.repair_step <= _automatic(policy.of(node.pool))


def _automatic(policy: Policy) -> int:
    """How many repair steps may run without an operator."""
    return min(policy.automatic_repair_steps, len(policy.repair_steps))


def _passed(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if event.suite not in ("", policy.suite):
        return Move(None, (_V.RETEST,), f"passed suite {event.suite}, but suite {policy.suite} is required")
    if not counts(node, event, policy):
        return Move(None, (_V.RETEST,), "the test began before the last workload ended")
    if event.spare:
        return Move(_S.SPARE, (_V.CORDON,), "passed the full suite; held back as a spare")
    return move


def _too_often_unknown(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if policy.bootstrap_unknown is OnUnknownTest.OPERATOR or node.tests >= policy.inconclusive_tests:
        return Move(_S.QUARANTINED, (_V.TICKET,), f"{node.tests} tests in a row were inconclusive")
    return move


def _unexpected(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """A job started on a node in service whose last test no longer counts, so the gate did not run."""
    if node.tested_at is not None:
        return move
    return Move(move.to, (_V.CORDON, _V.TICKET), "a workload started on a node that takes none: check the gate")


def _still_shared(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(None, (), "a workload ended, others still run") if node.jobs else move


def _leaves(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(_S.REMOVED, (), "empty; removed as an operator requested") if node.leaving else move


def _removed_at_once(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return move if node.jobs else Move(_S.REMOVED, move.verbs, "removed by an operator")


def _operators_own(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """Keeps an operator's quarantine after a re-test."""
    return Move(None, (), "quarantined by an operator: release it") if node.cause == OPERATOR else move


def _goes_on(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """Lets running work finish; the test follows, as after any workload."""
    return Move(_S.ALLOCATED, (), "released by an operator; tested when its work has ended") if node.jobs else move


def _next_repair(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """The action of this repair step; after the last automatic one a ticket for an operator, once."""
    number = node.repair_step
    if number > _automatic(policy):
        text = f"no automatic repair step is left for {node.cause or 'this cause'}; an operator decides"
        return Move(None, (_V.TICKET,), text)
    verb = policy.repair_steps[number - 1]
    return Move(_S.RESETTING, (verb,), f"repair: {verb.value.replace('_', ' ')}")


def _promoted(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if node.freshly_tested and node.tested_suite == policy.suite:
        return move
    return Move(_S.TESTING, (_V.RETEST,), "a spare is needed, but its test is out of date")


def _degraded(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(None, (), "degraded: recorded") if policy.service_degraded is OnDegraded.NOTHING else move


def _blind(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(None, (), "unknown: recorded") if policy.service_unknown is OnUnknown.NOTHING else move


_REFINEMENTS: dict[tuple[Stage, EventKind], Callable[[NodeState, NodeEvent, Policy, Move], Move]] = {
    (_S.TESTING, _H.TEST_PASSED): _passed,
    (_S.TESTING, _H.TEST_UNKNOWN): _too_often_unknown,
    (_S.READY, _H.JOB_STARTED): _unexpected,
    (_S.ALLOCATED, _H.JOB_STARTED): _unexpected,
    (_S.ALLOCATED, _H.JOB_ENDED): _still_shared,
    (_S.DRAINING, _H.EMPTIED): _leaves,
    (_S.DRAINING, _H.RELEASE): _goes_on,
    (_S.DRAINING, _H.REMOVE): _removed_at_once,
    (_S.QUARANTINED, _H.NEXT_REPAIR): _next_repair,
    (_S.QUARANTINED, _H.RETEST): _operators_own,
    (_S.QUARANTINED, _H.PART_REPLACED): _operators_own,
    (_S.SPARE, _H.PROMOTED): _promoted,
    **{(stage, _H.DEGRADED): _degraded for stage in IN_SERVICE},
    **{(stage, _H.BLIND): _blind for stage in IN_SERVICE},
}
