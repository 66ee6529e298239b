"""The fields of a node that an event changes in every stage."""

from collections.abc import Callable

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.lifecycle.table import TABLE
from holdfast.model.assets import NODE
from holdfast.model.lifecycle import OUT_OF_SERVICE, EventKind, NodeEvent, NodeState, Offence, changed

_H = EventKind
MOST_OFFENCES = 32
OPERATOR = "operator"
JOB = "job"


def note(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    noting = _NOTES.get(event.kind)
    return noting(node, event, now, policy) if noting else node


def counts(node: NodeState, event: NodeEvent, policy: Policy) -> bool:
    """Whether a pass counts: it is of the current suite and began after the last workload ended."""
    current = event.suite in ("", policy.suite)
    overlapped = event.began is not None and node.used_until is not None and event.began <= node.used_until
    return current and not overlapped


def _passed(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    if (node.stage, event.kind) not in TABLE or not counts(node, event, policy):
        return node
    tested_at = now if event.began is None else event.began
    return changed(
        node,
        tested_at=tested_at,
        tested_suite=policy.suite,
        tests=0,
        degraded_by="",
        failed=False,
        asked_at=None,
        cause="",
        held="",
        held_since=0.0,
    )


def _started(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A job started. It must not open a closed node, whose prolog may be requesting admission now."""
    node = node if node.takes_work else _untested(node)
    return changed(node, jobs=node.jobs | {event.job}, used_until=now)


def _ended(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    return changed(node, jobs=node.jobs - {event.job}, used_until=now)


def _failed(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A failure. A new cause starts at the first repair step that can help (for a repeat offender at the second or
    later); a known cause continues."""
    if (node.stage, event.kind) not in TABLE:
        return node
    offences = _with(node.offences, event, now)
    recent = [one for one in offences if one.at >= now - policy.offence_seconds]
    known = [one.cause for one in recent[-2:]] == [event.cause] * 2
    after = changed(node, offences=offences, cause=event.cause, tests=0, failed=True, asked_at=None, held="")
    after = _untested(after)
    done = node.repair_step if known else int(bool(event.repeat_offender) or len(recent) > policy.repeat_offences)
    return changed(after, repair_step=max(done, policy.steps_before(event.repair)))


def _untested(node: NodeState) -> NodeState:
    """Invalidate the last test: the node is tested before it takes new work."""
    return changed(node, tested_at=None, tested_suite="")


def _with(known: tuple[Offence, ...], event: NodeEvent, now: float) -> tuple[Offence, ...]:
    return (*known[-MOST_OFFENCES:], Offence(at=now, cause=event.cause))


def _unknown(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    return changed(node, tests=node.tests + 1, asked_at=None) if (node.stage, event.kind) in TABLE else node


def _degraded(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    if node.degraded_by == event.cause:
        return node
    return changed(node, degraded_by=event.cause, degradations=_with(node.degradations, event, now))


def _recovered(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A recovery. A degradation that was a symptom of another cause does not count."""
    own = node.degradations
    if event.holder and own and own[-1].cause == event.cause:
        return changed(node, degraded_by="", degradations=own[:-1])
    return changed(node, degraded_by="")


def _repairing(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    return changed(node, repair_step=node.repair_step + 1)


def _held(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A hold. For a node under test it also means that the test was answered."""
    if (node.stage, event.kind) not in TABLE:
        return node
    if event.failed:
        node = _untested(node)
    if node.held == event.holder:
        return changed(node, asked_at=None)
    reason = node.reason if _is_an_operators(node) else event.reason
    return changed(node, held=event.holder, held_since=now, reason=reason, asked_at=None)


def _freed(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    reason = node.reason if _is_an_operators(node) else event.reason
    return changed(node, held="", held_since=0.0, reason=reason) if node.held else node


def _part_replaced(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A part was replaced: its counters restart. A new chassis restarts all of them."""
    offences, degradations = (
        tuple(one for one in known if event.cause != NODE and not one.cause.startswith(f"{event.cause}."))
        for known in (node.offences, node.degradations)
    )
    return _untested(changed(node, offences=offences, degradations=degradations, repair_step=0, tests=0))


def _is_an_operators(node: NodeState) -> bool:
    """Whether an operator took the node out."""
    return node.cause == OPERATOR and node.stage in OUT_OF_SERVICE


def _by_an_operator(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """An operator's quarantine ends all automatic repair."""
    if (node.stage, event.kind) not in TABLE:
        return node
    leaving = event.kind is _H.REMOVE
    reason = event.reason or node.reason
    after = changed(node, cause=OPERATOR, reason=reason, leaving=leaving, held="", held_since=0.0)
    return _untested(after)


def _brought_back(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    """A released node is always tested; the test finds remaining faults."""
    if (node.stage, event.kind) not in TABLE:
        return node
    if node.held and _is_an_operators(node):
        node = changed(node, held="", held_since=0.0)
    return changed(node, leaving=False) if node.leaving else node


def _retested(node: NodeState, event: NodeEvent, now: float, policy: Policy) -> NodeState:
    return changed(node, doubted_at=now) if event.cause == JOB and (node.stage, event.kind) in TABLE else node


_NOTES: dict[EventKind, Callable[[NodeState, NodeEvent, float, Policy], NodeState]] = {
    _H.TEST_PASSED: _passed,
    _H.TEST_FAILED: _failed,
    _H.TEST_UNKNOWN: _unknown,
    _H.JOB_STARTED: _started,
    _H.JOB_ENDED: _ended,
    _H.FAILED: _failed,
    _H.DEGRADED: _degraded,
    _H.RECOVERED: _recovered,
    _H.NEXT_REPAIR: _repairing,
    _H.PART_REPLACED: _part_replaced,
    _H.HELD: _held,
    _H.FREED: _freed,
    _H.QUARANTINE: _by_an_operator,
    _H.REMOVE: _by_an_operator,
    _H.RELEASE: _brought_back,
    _H.RETEST: _retested,
}
