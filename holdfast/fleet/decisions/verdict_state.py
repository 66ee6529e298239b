"""The state of the fleet and its guarded steps: every failure passes the guards before a node moves."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from holdfast.fleet.decisions.breaker import spares_wanted
from holdfast.fleet.decisions.current_verdicts import CurrentVerdicts
from holdfast.fleet.decisions.guards import Guards, Hold, planned
from holdfast.fleet.decisions.lifecycle.machine import step, takes_out
from holdfast.fleet.decisions.lifecycle.policy import OnDegraded, Policy
from holdfast.fleet.decisions.repeat_offenders import RepeatOffenders
from holdfast.fleet.incidents.register import Incidents
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage
from holdfast.model.records import Step, Transition
from holdfast.model.wire.report import OrderOutcome, VerdictChange

_H = EventKind
EVALUATED_STAGES = (Stage.READY, Stage.SPARE, Stage.ALLOCATED, Stage.CLEANING)
TEST_RESULTS = {
    Health.PASS.value: _H.TEST_PASSED,
    Health.DEGRADED.value: _H.TEST_PASSED,
    Health.FAIL.value: _H.TEST_FAILED,
}


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
        """`scheduled`: a scheduler tells when a node is empty; without one, no known job means that it is."""
        self.policy = policy
        self.nodes = {node.name: node for node in nodes}
        self.heard: dict[str, float] = {}
        self.scheduled = scheduled
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
        """What counts against a node of ours now; checks in shadow mode do not."""
        node = self.nodes.get(name)
        if node is None:
            return None
        shadow = self.policy.of(node.pool).shadow_checks
        first = self.current.failing(name, shadow)
        if first is None or not self.incidents.root_of(name, (first.check,)):
            return first
        absorbed = {one.check for one in self.current.verdicts(name) if self.incidents.root_of(name, (one.check,))}
        return self.current.failing(name, absorbed.union(shadow)) or first  # its own failure before a seam's symptom

    def step(self, name: str, event: NodeEvent, now: float) -> list[Step]:
        node = self.nodes.get(name)
        if node is None:
            return []
        after, actions, reason = step(node, event, now, self.policy)
        if after == node and not actions:
            return []
        self.put(after)
        transition = Transition(node=name, at=now, before=node.stage, after=after.stage, event=event, reason=reason)
        return [Step(node=after, transition=transition, actions=tuple(actions))]

    def settle(self, name: str, pool: str, place: Mapping[str, str], event: NodeEvent, now: float) -> list[Step]:
        """A node that enrols from elsewhere is there from now on."""
        node = self.nodes[name]
        if (node.pool, dict(node.place)) == (pool, dict(place)):
            return []
        after = replace(node, pool=pool, place=dict(place))
        self.put(after)
        where = ", ".join(f"{kind} {where}" for kind, where in sorted(place.items()))
        reason = f"enrolled in pool {pool}, {where or 'no place named'}; it was in pool {node.pool}"
        moved = Transition(node=name, at=now, before=node.stage, after=node.stage, event=event, reason=reason)
        return [Step(node=after, transition=moved, actions=())]

    def put(self, node: NodeState) -> None:
        self.guards.moved(self.nodes.get(node.name), node)
        self.nodes[node.name] = node

    def guarded(self, name: str, event: NodeEvent, now: float) -> list[Step]:
        """A step that may take a node out of service: held where a guard says so, and reported once."""
        node = self.nodes[name]
        out = takes_out(node, event, now, self.policy)
        hold = self.guards.hold(node, now, self.policy, out=out, checks=(event.cause,))
        on_trial = event.kind is _H.TEST_FAILED and node.stage is Stage.TESTING
        spared = hold is not None and hold.victim and event.kind is _H.DEGRADED
        if hold is None or not (out or on_trial or spared):
            return self.step(name, event, now)
        if hold.holder == f"pool/{node.pool}":
            members = self.incidents.members(hold.holder) | {name}
            self.incidents.raise_(hold.holder, "breaker", hold.reason, now, members)
        return self.held(name, hold, event.cause, now)

    def held(self, name: str, hold: Hold, cause: str, now: float) -> list[Step]:
        event = NodeEvent(kind=_H.HELD, cause=cause, holder=hold.holder, reason=hold.reason)
        return self.step(name, event, now)

    def failed(self, name: str, change: VerdictChange, now: float) -> list[Step]:
        """A failure in service. A failure of a node under test is for the test to find."""
        node = self.nodes[name]
        if change.check in self.policy.of(node.pool).shadow_checks:
            return []
        if planned(node, now, self.policy) is None:
            self.guards.failed_by(name, change.check, now, self.policy)
        if node.stage not in EVALUATED_STAGES:
            return []
        return self.guarded(name, self._with_record(node, event_of(_H.FAILED, change), now), now)

    def well_again(self, name: str, now: float) -> list[Step]:
        """No check of it fails any more. One that is held on trial is tried at once; what only a test found stays."""
        if self.current.knows(name, self.guards.failing_by(name) or ""):
            self.guards.recovered(name)
        node = self.nodes[name]
        waits = node.stage is Stage.TESTING and node.held and node.asked_at is None
        if not waits or self.guards.failing_by(name) is not None:
            return []
        return self.step(name, NodeEvent(kind=_H.RETEST, reason="its checks are well again"), now)

    def tested(self, name: str, outcome: OrderOutcome, now: float) -> list[Step]:
        """What a full test found."""
        node = self.nodes[name]
        own = self.policy.of(node.pool)
        degraded = outcome.health == Health.DEGRADED.value
        kind = TEST_RESULTS.get(outcome.health, _H.TEST_UNKNOWN)
        if degraded and own.bootstrap_degraded is OnDegraded.FAIL:
            kind = _H.TEST_FAILED
        cause, reason = outcome.cause, outcome.reason
        if kind is _H.TEST_PASSED and outcome.suite not in ("", own.suite):
            kind, cause = _H.TEST_UNKNOWN, "suite"
            reason = f"suite {outcome.suite} ran, suite {own.suite} is asked for; [agent] suite names what a node runs"
        if kind is _H.TEST_PASSED and (failing := self.failing(name)) is not None:
            kind, cause, reason = _H.TEST_FAILED, failing.check, f"passed, but {failing.check} fails: {failing.reason}"
        event = NodeEvent(
            kind=kind,
            cause=cause,
            reason=reason,
            suite=outcome.suite,
            began=outcome.began,
            spare=kind is _H.TEST_PASSED and self._wants_spare(node),
        )
        if kind is _H.TEST_FAILED and node.stage is Stage.TESTING:
            self.guards.failed_by(name, cause, now, self.policy)
        elif kind is _H.TEST_PASSED:
            self.guards.recovered(name)
        steps = self.guarded(name, self._with_record(node, event, now), now)
        if degraded and kind is _H.TEST_PASSED and own.bootstrap_degraded is OnDegraded.CHOOSE_LAST:
            steps += self.guarded(name, NodeEvent(kind=_H.DEGRADED, cause=outcome.cause, reason=outcome.reason), now)
        return steps

    def _with_record(self, node: NodeState, event: NodeEvent, now: float) -> NodeEvent:
        """A failure of a repeat offender says so, in the node's history too."""
        if event.kind not in (_H.FAILED, _H.TEST_FAILED):
            return event
        why = self.repeat_offenders.why(node, now, self.policy.of(node.pool))
        return replace(event, repeat_offender=why, evidence=(*event.evidence, why)) if why else event

    def _wants_spare(self, node: NodeState) -> bool:
        """Counted as if the node had returned, which it does by this."""
        counted = self.guards.tallies[node.pool]
        return len(counted.spares) < spares_wanted(counted, node.pool, self.policy, returning=node.out)


def event_of(kind: EventKind, change: VerdictChange) -> NodeEvent:
    return NodeEvent(kind=kind, cause=change.check, reason=change.reason, evidence=change.evidence)
