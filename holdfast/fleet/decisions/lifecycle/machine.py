"""One step of a node's life: the table says where to, the policy's numbers refine the few cells that need them.

`step` returns the node, the actions and the reason. A pair that is not in the table changes nothing and says so.
"""

from collections.abc import Callable
from dataclasses import replace

from holdfast.fleet.decisions.lifecycle.memory import OPERATOR, counts, note
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, OnUnknown, OnUnknownTest, Policy
from holdfast.fleet.decisions.lifecycle.table import IN_SERVICE, TABLE, Move
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage, Verb, changed

_S, _H, _V = Stage, EventKind, Verb
SPARE_CAUSE = "spare"


def step(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> tuple[NodeState, list[Action], str]:
    """What becomes of a node: itself afterwards, what to do, and why. Refusals and non-events change nothing."""
    own = policy.of(node.pool)
    event = _taken_as(node, event, now, own)
    if event.cause in own.shadow_checks and event.kind in (_H.FAILED, _H.DEGRADED):
        return node, [], f"{event.cause} is in shadow mode: {event.reason}"
    noted = note(node, event, now, own)
    move = TABLE.get((node.stage, event.kind))
    if move is None:
        return noted, [], f"{event.kind.value} changes nothing while {node.stage.value}"
    refine = _REFINEMENTS.get((node.stage, event.kind))
    if refine is not None:
        move = refine(noted, event, own, move)
    after = noted
    if move.to is not None and move.to is not node.stage:
        after = changed(noted, stage=move.to, since=now, reason=_words(noted, event, move))
    if _V.RETEST in move.verbs:
        after = changed(after, asked_at=now)
    reason = f"{move.words}: {event.reason}" if event.reason else move.words
    cause = SPARE_CAUSE if move.to is _S.SPARE else event.cause
    return after, [Action(node=node.name, verb=v, reason=reason, cause=cause, at=now) for v in move.verbs], reason


def _words(node: NodeState, event: NodeEvent, move: Move) -> str:
    """A node that is held goes on saying by what, and one that a person has what the person said."""
    if node.held or (event.kind is _H.EMPTIED and node.cause == OPERATOR):
        return node.reason
    return event.reason or move.words


def _taken_as(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeEvent:
    """Degraded once too often, or under a policy that bears none of it, is a failure."""
    if event.kind is not _H.DEGRADED or node.stage not in IN_SERVICE or node.degraded_by == event.cause:
        return event
    since = now - policy.lemon_seconds
    times = 1 + sum(one.cause == event.cause and one.at >= since for one in node.degradations)
    if policy.service_degraded is OnDegraded.FAIL:
        return replace(event, kind=_H.FAILED, reason=f"degraded: {event.reason}")
    if times >= policy.degraded_repeats and policy.service_degraded is not OnDegraded.NOTHING:
        return replace(event, kind=_H.FAILED, reason=f"degraded {times} times: {event.reason}")
    return event


def takes_out(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> bool:
    """Whether this would make the breaker count one more."""
    return not node.out and step(node, event, now, policy)[0].out


def is_a_persons_case(node: NodeState, policy: Policy) -> bool:
    """Nothing is left that the machine may do about it by itself."""
    own = policy.of(node.pool)
    return node.cause in ("", OPERATOR) or node.rung >= min(own.automatic_rungs, len(own.ladder))


def may_climb(node: NodeState, policy: Policy) -> bool:
    """A person's quarantine is a person's to end; past the automatic rungs the ticket is written once."""
    own = policy.of(node.pool)
    return node.cause not in ("", OPERATOR) and node.rung <= min(own.automatic_rungs, len(own.ladder))


def _passed(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if event.suite not in ("", policy.suite):
        return Move(None, (_V.RETEST,), f"passed suite {event.suite}, but suite {policy.suite} is asked for")
    if not counts(node, event, policy):
        return Move(None, (_V.RETEST,), "the test began before the last workload ended")
    if event.spare:
        return Move(_S.SPARE, (_V.CORDON,), "passed the full suite; held back as a spare")
    return move


def _too_often_unknown(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if policy.bootstrap_unknown is OnUnknownTest.PERSON or node.tests >= policy.inconclusive_tests:
        return Move(_S.QUARANTINED, (_V.TICKET,), f"{node.tests} tests in a row could not see enough")
    return move


def _still_shared(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(None, (), "a workload ended, others still run") if node.jobs else move


def _leaves(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(_S.REMOVED, (), "empty; removed as an operator asked") if node.leaving else move


def _removed_at_once(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return move if node.jobs else Move(_S.REMOVED, move.verbs, "removed by an operator")


def _goes_on(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """What runs here ends in its own time; the test comes after it, as after any workload."""
    return Move(_S.ALLOCATED, (), "released by an operator; tested when its work has ended") if node.jobs else move


def _rung(node: NodeState, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """The verb of the rung just stepped on; past the automatic ones a person is asked, once."""
    number = node.rung
    if number > min(policy.automatic_rungs, len(policy.ladder)):
        return Move(None, (_V.TICKET,), f"{number - 1} rungs tried for {node.cause or 'this cause'}; a person decides")
    return Move(_S.RESETTING, (policy.ladder[number - 1],), f"rung {number} of the ladder")


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
    (_S.ALLOCATED, _H.JOB_ENDED): _still_shared,
    (_S.DRAINING, _H.EMPTIED): _leaves,
    (_S.DRAINING, _H.RELEASE): _goes_on,
    (_S.DRAINING, _H.REMOVE): _removed_at_once,
    (_S.QUARANTINED, _H.CLIMB): _rung,
    (_S.SPARE, _H.PROMOTED): _promoted,
    **{(stage, _H.DEGRADED): _degraded for stage in IN_SERVICE},
    **{(stage, _H.BLIND): _blind for stage in IN_SERVICE},
}
