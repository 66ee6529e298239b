"""Verdict state of the fleet. Every failure passes the guards before a node changes stage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from holdfast.fleet.decisions.breaker import spares_wanted
from holdfast.fleet.decisions.current_verdicts import CurrentVerdicts
from holdfast.fleet.decisions.guards import Guards, Hold, planned
from holdfast.fleet.decisions.lifecycle.machine import as_failure, step, takes_out
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, Policy
from holdfast.fleet.decisions.repeat_offenders import RepeatOffenders
from holdfast.fleet.incidents.register import Incidents
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import CLOSING, EventKind, NodeEvent, NodeState, Stage
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep, Transition
from holdfast.model.wire.report import OrderOutcome, VerdictChange
from holdfast.node.checks import BY_NAME

_H = EventKind
IDLE = (Stage.READY, Stage.SPARE)
EVALUATED_STAGES = (*IDLE, Stage.ALLOCATED, Stage.CLEANING)
TEST_RESULTS = {
    Health.PASS.value: _H.TEST_PASSED,
    Health.DEGRADED.value: _H.TEST_PASSED,
    Health.FAIL.value: _H.TEST_FAILED,
}
FAILURES = (_H.FAILED, _H.TEST_FAILED)
TAKING_OUT = (*FAILURES, _H.DEGRADED, _H.TEST_UNKNOWN)  # events that may take a node out of service without an operator
# causes of incidents in which new work may still start on the node
NOT_CLOSED = tuple(f"action.{verb.value}" for verb in CLOSING)
VIEW_SECONDS = 60.0  # an older view of the scheduler confirms nothing


@dataclass(frozen=True, slots=True)
class SchedulerView:
    """A node as its scheduler showed it in a read that began at `began`."""

    began: float
    status: NodeStatus


class VerdictState:
    def __init__(
        self,
        policy: Policy,
        nodes: Iterable[NodeState] = (),
        verdicts: Mapping[str, Iterable[VerdictChange]] | None = None,
        *,
        incidents: Iterable[Incident] = (),
        scheduled: bool = False,
    ) -> None:
        """`scheduled`: a scheduler shows empty nodes. Without one, a node without a known job counts as empty."""
        self.policy = policy
        self.nodes = {node.name: node for node in nodes}
        self.last_report_at: dict[str, float] = {}
        self.scheduled = scheduled
        self.views: dict[str, SchedulerView] = {}
        # node whose repeated degradation counts as a failure -> (check, reason)
        self._repeated: dict[str, tuple[str, str]] = {}
        self.current = CurrentVerdicts(verdicts or {})
        self.incidents = Incidents(incidents)
        self.guards = Guards(self.nodes.values(), self.incidents)
        self.repeat_offenders = RepeatOffenders(self.nodes)
        for node in self.nodes.values():
            if node.held and node.stage is Stage.TESTING:
                self.guards.remember(node.name, "", node.held_since)
        for name in self.current.failing_nodes():
            if (failing := self.failing(name)) is not None:
                self.guards.remember(name, failing.check, failing.at)

    def failing(self, name: str) -> VerdictChange | None:
        """The check that the node fails now; checks in shadow mode do not count."""
        node = self.nodes.get(name)
        if node is None:
            return None
        shadow = self.policy.of(node.pool).shadow_checks
        first = self.current.failing(name, shadow) or self._degraded_too_often(node)
        if first is None:
            return None
        absorbed = {one.check for one in self.current.verdicts(name) if self.incidents.root_of(name, (one.check,))}
        return self.current.failing(name, absorbed.union(shadow)) or first  # its own failure before a seam's symptom

    def _degraded_too_often(self, node: NodeState) -> VerdictChange | None:
        """The degradation that counts as a failure, until it ends or the node leaves service."""
        check, reason = self._repeated.get(node.name, ("", ""))
        now = self.current.verdict(node.name, check)
        if node.stage in EVALUATED_STAGES and now is not None and now.after == Health.DEGRADED.value:
            return replace(now, reason=reason)
        self._repeated.pop(node.name, None)
        return None

    def step(self, name: str, event: NodeEvent, now: float) -> list[LifecycleStep]:
        """One step of a node. Every event that may take it out of service, or repair it, passes the guards here."""
        node = self.nodes.get(name)
        if node is None:
            return []
        own = self.policy.of(node.pool)
        reported, event = event, as_failure(node, event, now, own)
        if event is not reported and event.cause not in own.shadow_checks:
            self._repeated[name] = (event.cause, event.reason)
        if event.kind in TAKING_OUT:
            if event.cause not in own.shadow_checks:
                self._note_failure(node, event, now)
            hold, out = self._hold_against(node, event, now)
            if hold is not None:
                return self.held(name, hold, event.cause, now, failed=out)
        if event.kind is _H.NEXT_REPAIR and self.repair_waits(node, now):
            return []
        return self._apply(node, self._with_record(node, event, now), now)

    def _apply(self, node: NodeState, event: NodeEvent, now: float) -> list[LifecycleStep]:
        after, actions, reason = step(node, event, now, self.policy)
        if after == node and not actions:
            return []
        self.put(after)
        transition = Transition(
            node=node.name, at=now, before=node.stage, after=after.stage, event=event, reason=reason
        )
        return [LifecycleStep(node=after, transition=transition, actions=tuple(actions))]

    def settle(
        self, name: str, pool: str, place: Mapping[str, str], event: NodeEvent, now: float
    ) -> list[LifecycleStep]:
        """Stores the new place of a node that enrolled from elsewhere."""
        node = self.nodes[name]
        if (node.pool, dict(node.place)) == (pool, dict(place)):
            return []
        after = replace(node, pool=pool, place=dict(place))
        self.put(after)
        where = ", ".join(f"{kind} {where}" for kind, where in sorted(place.items()))
        reason = f"enrolled in pool {pool}, {where or 'no place named'}; it was in pool {node.pool}"
        moved = Transition(node=name, at=now, before=node.stage, after=node.stage, event=event, reason=reason)
        return [LifecycleStep(node=after, transition=moved, actions=())]

    def put(self, node: NodeState) -> None:
        self.guards.moved(self.nodes.get(node.name), node)
        self.nodes[node.name] = node

    def _note_failure(self, node: NodeState, event: NodeEvent, now: float) -> None:
        """Notes a failure as evidence for a shared cause, in any stage of the node."""
        late = event.kind is _H.TEST_FAILED and node.stage is not Stage.TESTING
        if late or planned(node, now, self.policy) is not None:
            return
        if event.kind in FAILURES:
            self.guards.failed_by(node.name, event.cause, now, self.policy)
        elif event.kind is _H.DEGRADED:
            self.guards.degraded(node.name, now)

    def _hold_against(self, node: NodeState, event: NodeEvent, now: float) -> tuple[Hold | None, bool]:
        """The hold against this step, if any, and whether the node fails."""
        out = takes_out(node, event, now, self.policy)
        under_test = event.kind is _H.TEST_FAILED and node.stage is Stage.TESTING
        hold = self.guards.hold(node, now, self.policy, out=out, checks=(event.cause,))
        spared = hold is not None and hold.victim and event.kind is _H.DEGRADED
        if hold is None or not (out or under_test or spared):
            return None, out
        if hold.holder == f"pool/{node.pool}":
            members = self.incidents.members(hold.holder) | {node.name}
            self.incidents.raise_(hold.holder, "breaker", hold.reason, now, members)
        return hold, out

    def repair_waits(self, node: NodeState, now: float) -> str:
        """Why no repair step may begin on a quarantined node now; '' if one may."""
        hold = self.guards.hold(node, now, self.policy, out=False, checks=(node.cause,))
        hold = hold or self.guards.pattern(node, now, self.policy)
        if hold is not None:
            return hold.reason
        return "" if self.confirmed_empty(node, now) else "its scheduler has not confirmed that it is drained and empty"

    def confirmed_empty(self, node: NodeState, now: float) -> bool:
        """Whether nothing runs on a node and nothing can start: seen by the scheduler since the node left service.

        Silence proves nothing: if the scheduler is away, or does not know the node's state, the answer is no. Without
        an observed scheduler, the answer is no after a failed cordon or drain.
        """
        if not self.scheduled or self.policy.of(node.pool).dry_run:
            return not node.jobs and not self.not_closed(node.name)
        view = self.views.get(node.name)
        if view is None or view.began <= node.since or now - view.began > VIEW_SECONDS:
            return False
        return view.status.drained_and_empty and not node.jobs

    def not_closed(self, name: str) -> bool:
        """Whether work may still start on a node: its last cordon or drain failed, and no observed scheduler shows its
        state."""
        failed = self.incidents.open.get(f"node/{name}/scheduler")
        return not self.scheduled and failed is not None and failed.cause in NOT_CLOSED

    def held(self, name: str, hold: Hold, cause: str, now: float, *, failed: bool = False) -> list[LifecycleStep]:
        """Holds a node. `failed`: the node would have left service; it takes no new work until it passes a test."""
        event = NodeEvent(kind=_H.HELD, cause=cause, holder=hold.holder, reason=hold.reason, failed=failed)
        return self._apply(self.nodes[name], event, now)

    def failed(self, name: str, change: VerdictChange, now: float) -> list[LifecycleStep]:
        """Takes a failing check. In service the guards decide; under test only the result of the test counts."""
        node = self.nodes[name]
        if change.check in self.policy.of(node.pool).shadow_checks:
            return []
        event = event_of(_H.FAILED, change)
        if node.stage not in EVALUATED_STAGES:
            self._note_failure(node, event, now)
            return []
        return self.step(name, event, now)

    def well_again(self, name: str, now: float) -> list[LifecycleStep]:
        """Takes the end of the last failure. If its last test is invalid, the node is tested before it takes work."""
        if self.current.knows(name, self.guards.failing_by(name)):
            self.guards.recovered(name)
        node = self.nodes[name]
        waits = node.stage is Stage.TESTING and node.held and node.asked_at is None
        untested = node.stage in IDLE and node.tested_at is None
        if not (waits or untested) or self.guards.failing_by(name) is not None:
            return []
        return self.step(name, NodeEvent(kind=_H.RETEST, reason="its checks pass again"), now)

    def tested(self, name: str, outcome: OrderOutcome, now: float) -> list[LifecycleStep]:
        """Takes the result of a full test."""
        node = self.nodes[name]
        own = self.policy.of(node.pool)
        degraded = outcome.health == Health.DEGRADED.value
        kind = TEST_RESULTS.get(outcome.health, _H.TEST_UNKNOWN)
        if degraded and own.bootstrap_degraded is OnDegraded.FAIL:
            kind = _H.TEST_FAILED
        cause, reason, repair = outcome.cause, outcome.reason, outcome.repair
        if kind is _H.TEST_PASSED and outcome.suite not in ("", own.suite):
            kind, cause = _H.TEST_UNKNOWN, "suite"
            reason = f"suite {outcome.suite} ran, suite {own.suite} is required; [agent] suite names the node's suite"
        if kind is _H.TEST_PASSED and (failing := self.failing(name)) is not None:
            kind, cause, repair = _H.TEST_FAILED, failing.check, failing.repair
            reason = f"passed, but {failing.check} fails: {failing.reason}"
        event = NodeEvent(
            kind=kind,
            cause=cause,
            reason=reason,
            suite=outcome.suite,
            began=outcome.began,
            repair=first_repair(cause, repair),
            spare=kind is _H.TEST_PASSED and self._wants_spare(node),
        )
        if kind is _H.TEST_PASSED:
            self.guards.recovered(name)
        steps = self.step(name, event, now)
        if degraded and kind is _H.TEST_PASSED and own.bootstrap_degraded is OnDegraded.CHOOSE_LAST:
            steps += self.step(name, NodeEvent(kind=_H.DEGRADED, cause=outcome.cause, reason=outcome.reason), now)
        return steps

    def _with_record(self, node: NodeState, event: NodeEvent, now: float) -> NodeEvent:
        """A failure of a repeat offender says so, in the node's history too."""
        if event.kind not in (_H.FAILED, _H.TEST_FAILED):
            return event
        why = self.repeat_offenders.why(node, now, self.policy.of(node.pool))
        return replace(event, repeat_offender=why, evidence=(*event.evidence, why)) if why else event

    def _wants_spare(self, node: NodeState) -> bool:
        """Whether the pool needs the returning node as a spare."""
        counted = self.guards.tallies[node.pool]
        return len(counted.spares) < spares_wanted(counted, node.pool, self.policy, returning=node.out)


def event_of(kind: EventKind, change: VerdictChange) -> NodeEvent:
    repair = first_repair(change.check, change.repair)
    return NodeEvent(kind=kind, cause=change.check, reason=change.reason, evidence=change.evidence, repair=repair)


def first_repair(cause: str, reported: str) -> str:
    """The first repair step that can help, from the agent's report, or from the check if the agent is older."""
    check = BY_NAME.get(cause)
    return reported or (check.repair.value if check is not None else "")
