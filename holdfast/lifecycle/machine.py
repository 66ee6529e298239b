"""One table: where a node goes when something happens to it, and what is done about it.

`step` looks the pair (stage, happening) up, applies the policy's numbers, and returns the node, the actions and the
reason. A pair that is not in the table changes nothing and says so.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.lifecycle.policy import Policy
from holdfast.model.life import Action, Happening, NodeEvent, NodeLife, Offence, Stage, Verb

_S, _H, _V = Stage, Happening, Verb
IN_SERVICE = (_S.READY, _S.ALLOCATED)
MOST_OFFENCES = 32


@dataclass(frozen=True, slots=True)
class Move:
    """A cell of the table: the next stage (None keeps it) and what to do. The words explain it in the docs."""

    to: Stage | None
    verbs: tuple[Verb, ...] = ()
    words: str = ""


TABLE: dict[tuple[Stage, Happening], Move] = {
    (_S.PROVISIONING, _H.ENROLLED): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "a new node runs nothing until tested"),
    (_S.TESTING, _H.TEST_PASSED): Move(_S.READY, (_V.UNCORDON,), "passed the full suite"),
    (_S.TESTING, _H.TEST_FAILED): Move(_S.QUARANTINED, (_V.CORDON,), "failed the full suite"),
    (_S.TESTING, _H.TEST_UNKNOWN): Move(_S.TESTING, (_V.RETEST,), "the suite could not see enough"),
    (_S.TESTING, _H.QUARANTINE): Move(_S.QUARANTINED, (_V.CORDON,), "an operator said so"),
    (_S.READY, _H.JOB_STARTED): Move(_S.ALLOCATED, (), "a workload started"),
    (_S.READY, _H.JOB_ENDED): Move(_S.CLEANING, (_V.CORDON,), "a workload ended whose start was not seen"),
    (_S.READY, _H.RETEST): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "a re-test was asked for"),
    (_S.ALLOCATED, _H.JOB_STARTED): Move(_S.ALLOCATED, (), "another workload started"),
    (_S.ALLOCATED, _H.JOB_ENDED): Move(_S.CLEANING, (_V.CORDON,), "the last workload ended"),
    (_S.CLEANING, _H.CLEANED): Move(_S.TESTING, (_V.RETEST,), "clean; tested before the next workload"),
    (_S.CLEANING, _H.FAILED): Move(_S.QUARANTINED, (), "failed while being cleaned"),
    (_S.DRAINING, _H.JOB_ENDED): Move(_S.DRAINING, (), "a workload ended while draining"),
    (_S.DRAINING, _H.EMPTIED): Move(_S.QUARANTINED, (), "nothing runs here any more"),
    (_S.QUARANTINED, _H.CLIMB): Move(_S.RESETTING, (), "the next rung of the ladder"),
    (_S.QUARANTINED, _H.RELEASE): Move(_S.TESTING, (_V.RETEST,), "released by an operator; tested first"),
    (_S.QUARANTINED, _H.RETEST): Move(_S.TESTING, (_V.RETEST,), "a re-test was asked for"),
    (_S.RESETTING, _H.RESET_DONE): Move(_S.TESTING, (_V.RETEST,), "reset; tested in full before it returns"),
    (_S.RESETTING, _H.RESET_FAILED): Move(_S.QUARANTINED, (), "the reset did not succeed"),
    (_S.REMOVED, _H.RELEASE): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "brought back by an operator; tested first"),
    (_S.REMOVED, _H.ENROLLED): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "enrolled again after repair"),
    **{
        (s, _H.JOB_STARTED): Move(_S.ALLOCATED, (_V.TICKET,), "a workload started on an untested node: check the gate")
        for s in (_S.PROVISIONING, _S.TESTING, _S.CLEANING)
    },
    **{
        (s, _H.JOB_STARTED): Move(
            None, (_V.DRAIN, _V.TICKET), "a workload started on a node out of service: check the gate"
        )
        for s in (_S.DRAINING, _S.QUARANTINED, _S.RESETTING, _S.REMOVED)
    },
    **{(s, _H.FAILED): Move(_S.DRAINING, (_V.DRAIN,), "failed in service") for s in IN_SERVICE},
    **{(s, _H.DEGRADED): Move(None, (_V.CHOOSE_LAST,), "degraded: chosen last, tested when empty") for s in IN_SERVICE},
    **{(s, _H.RECOVERED): Move(None, (_V.CHOOSE_NORMALLY,), "no longer degraded") for s in IN_SERVICE},
    **{(s, _H.BLIND): Move(None, (_V.TICKET,), "unknown for too long: an alarm, never a drain") for s in IN_SERVICE},
    **{(s, _H.QUARANTINE): Move(_S.DRAINING, (_V.DRAIN,), "an operator said so") for s in IN_SERVICE},
    **{
        (s, _H.QUARANTINE): Move(_S.QUARANTINED, (_V.CORDON,), "an operator said so")
        for s in (_S.PROVISIONING, _S.CLEANING)
    },
    **{
        (s, _H.REMOVE): Move(_S.REMOVED, (_V.DRAIN,), "removed by an operator")
        for s in _S
        if s not in (_S.REMOVED, _S.ALLOCATED)
    },
    (_S.ALLOCATED, _H.REMOVE): Move(_S.DRAINING, (_V.DRAIN,), "to be removed; running work finishes first"),
}


def step(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> tuple[NodeLife, list[Action], str]:
    """What becomes of a node: itself afterwards, what to do, and why. Refusals and non-events change nothing."""
    if event.cause in policy.shadow_checks and event.kind in (_H.FAILED, _H.DEGRADED):
        return node, [], f"{event.cause} is in shadow mode: {event.reason}"
    noted = _note(node, event, now, policy)
    move = TABLE.get((node.stage, event.kind))
    if move is None:
        return noted, [], f"{event.kind.value} changes nothing while {node.stage.value}"
    move = _refine(noted, event, policy, move)
    after = noted
    if move.to is not None and move.to is not node.stage:
        after = replace(noted, stage=move.to, since=now, reason=event.reason or move.words)
    reason = f"{move.words}: {event.reason}" if event.reason else move.words
    return after, [Action(node=node.name, verb=v, reason=reason, cause=event.cause, at=now) for v in move.verbs], reason


def _note(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    """What is remembered of an event whatever it leads to."""
    note = _NOTES.get(event.kind)
    return note(node, event, now, policy) if note else node


def _refine(node: NodeLife, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """The few cells whose outcome depends on the node's memory."""
    refine = _REFINEMENTS.get((node.stage, event.kind))
    return refine(node, event, policy, move) if refine else move


def _note_passed(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    if not _counts(node, event, policy):
        return node
    return replace(
        node, tested_at=now if event.began is None else event.began, tested_suite=policy.suite, tests=0, degraded_by=""
    )


def _note_started(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, jobs=node.jobs | {event.job}, used_until=now)


def _note_ended(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, jobs=node.jobs - {event.job}, used_until=now)


def _note_failed(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    """A new cause starts at the foot of the ladder, a known lemon one rung up; the same cause goes on climbing."""
    if (node.stage, event.kind) not in TABLE:
        return node
    recent = tuple(o for o in node.offences if o.at >= now - policy.lemon_seconds)[-MOST_OFFENCES:]
    offences = (*recent, Offence(at=now, cause=event.cause))
    if event.cause == node.cause:
        return replace(node, offences=offences, tests=0)
    start = 1 if len(offences) > policy.lemon_offences else 0
    return replace(node, offences=offences, cause=event.cause, rung=start, tests=0)


def _note_unknown(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, tests=node.tests + 1)


def _note_degraded(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, degraded_by=event.cause)


def _note_recovered(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, degraded_by="")


def _note_climb(node: NodeLife, event: NodeEvent, now: float, policy: Policy) -> NodeLife:
    return replace(node, rung=node.rung + 1)


_NOTES: dict[Happening, Callable[[NodeLife, NodeEvent, float, Policy], NodeLife]] = {
    _H.TEST_PASSED: _note_passed,
    _H.TEST_FAILED: _note_failed,
    _H.TEST_UNKNOWN: _note_unknown,
    _H.JOB_STARTED: _note_started,
    _H.JOB_ENDED: _note_ended,
    _H.FAILED: _note_failed,
    _H.DEGRADED: _note_degraded,
    _H.RECOVERED: _note_recovered,
    _H.CLIMB: _note_climb,
}


def _counts(node: NodeLife, event: NodeEvent, policy: Policy) -> bool:
    """A pass counts if the current suite gave it and began after the last workload ended."""
    current = event.suite in ("", policy.suite)
    overlapped = event.began is not None and node.used_until is not None and event.began <= node.used_until
    return current and not overlapped


def _pass_that_does_not_count(node: NodeLife, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if _counts(node, event, policy):
        return move
    if event.suite not in ("", policy.suite):
        return Move(None, (_V.RETEST,), f"passed suite {event.suite}, but suite {policy.suite} is asked for")
    return Move(None, (_V.RETEST,), "the test began before the last workload ended")


def _too_often_unknown(node: NodeLife, event: NodeEvent, policy: Policy, move: Move) -> Move:
    if node.tests >= policy.inconclusive_tests:
        return Move(_S.QUARANTINED, (_V.TICKET,), f"{node.tests} tests in a row could not see enough")
    return move


def _still_shared(node: NodeLife, event: NodeEvent, policy: Policy, move: Move) -> Move:
    return Move(None, (), "a workload ended, others still run") if node.jobs else move


def _rung(node: NodeLife, event: NodeEvent, policy: Policy, move: Move) -> Move:
    """The verb of the rung just stepped on; past the automatic ones a person is asked, once."""
    number = node.rung
    if number > min(policy.automatic_rungs, len(policy.ladder)):
        return Move(None, (_V.TICKET,), f"{number - 1} rungs tried for {node.cause or 'this cause'}; a person decides")
    return Move(_S.RESETTING, (policy.ladder[number - 1],), f"rung {number} of the ladder")


_REFINEMENTS: dict[tuple[Stage, Happening], Callable[[NodeLife, NodeEvent, Policy, Move], Move]] = {
    (_S.TESTING, _H.TEST_PASSED): _pass_that_does_not_count,
    (_S.TESTING, _H.TEST_UNKNOWN): _too_often_unknown,
    (_S.ALLOCATED, _H.JOB_ENDED): _still_shared,
    (_S.QUARANTINED, _H.CLIMB): _rung,
}
