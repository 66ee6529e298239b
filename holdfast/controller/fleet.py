"""The fleet's judgement, without I/O or clock: what agents, schedulers and people say in, steps of nodes' lives out.

The controller stores every step before it acts on it; the demo and the policy preview run the same object.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from holdfast.controller.incidents import Incidents
from holdfast.lifecycle.fleet import Failure, breaker, shared_cause
from holdfast.lifecycle.machine import step
from holdfast.lifecycle.policy import Policy
from holdfast.model.health import Health, worst
from holdfast.model.life import Happening, NodeEvent, NodeLife, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.report import OrderOutcome, Report, VerdictChange
from holdfast.store.words import Step, Transition

IN_SERVICE = (Stage.READY, Stage.ALLOCATED, Stage.CLEANING)
RESETS = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)
TEST_RESULTS = {
    Health.PASS: Happening.TEST_PASSED,
    Health.DEGRADED: Happening.TEST_PASSED,
    Health.FAIL: Happening.TEST_FAILED,
    Health.UNKNOWN: Happening.TEST_UNKNOWN,
}
HEALTHS = {health.value: health for health in TEST_RESULTS}
MOST_FAILURES = 10_000


class Fleet:
    def __init__(
        self,
        policy: Policy,
        nodes: Iterable[NodeLife] = (),
        verdicts: Mapping[str, Iterable[VerdictChange]] | None = None,
        *,
        scheduled: bool = False,
    ) -> None:
        self.policy = policy
        self.nodes = {node.name: node for node in nodes}
        self.incidents = Incidents()
        self.heard: dict[str, float] = {}
        self._scheduled = scheduled  # a scheduler tells when a node is empty; without one, no known job means empty
        self._standing = {name: {c.check: c for c in changes} for name, changes in (verdicts or {}).items()}
        self._failures: deque[Failure] = deque(maxlen=MOST_FAILURES)
        self._alarmed: set[str] = set()  # nodes whose blindness was told

    def verdicts(self, node: str) -> list[VerdictChange]:
        """The standing verdict of every check of a node."""
        return list(self._standing.get(node, {}).values())

    def health(self, node: str, now: float) -> str:
        """The worst of a node's standing verdicts; a silent agent's node is unknown whatever it last said."""
        if now - self.heard.get(node, 0.0) > self.policy.silent_seconds:
            return Health.UNKNOWN.value
        states = (change.after for change in self._standing.get(node, {}).values())
        known = [HEALTHS[state] for state in states if state in HEALTHS]
        return worst(known or [Health.PASS]).value

    def enrol(self, name: str, pool: str, place: Mapping[str, str], now: float) -> list[Step]:
        if name not in self.nodes:
            self.nodes[name] = NodeLife(name=name, pool=pool, place=dict(place), since=now)
        return self._step(name, NodeEvent(kind=Happening.ENROLLED, reason="the agent enrolled"), now)

    def take(self, report: Report, now: float) -> list[Step]:
        """What an agent reported. Late and repeated changes never undo newer ones."""
        if report.node not in self.nodes:
            return []
        self.heard[report.node] = max(now, self.heard.get(report.node, 0.0))
        self.incidents.close(f"node/{report.node}", now)
        steps: list[Step] = []
        for change in report.changes:
            steps += self._take_change(report.node, change, now)
        for outcome in report.outcomes:
            steps += self._take_outcome(report.node, outcome, now)
        return steps

    def observe(self, statuses: Sequence[NodeStatus], now: float) -> list[Step]:
        """What the scheduler sees: jobs that started and ended, nodes that became empty."""
        steps: list[Step] = []
        for status in statuses:
            node = self.nodes.get(status.node)
            if node is None:
                continue
            for job in sorted(status.jobs - node.jobs):
                steps += self._step(node.name, NodeEvent(kind=Happening.JOB_STARTED, job=job), now)
            for job in sorted(node.jobs - status.jobs):
                steps += self._step(node.name, NodeEvent(kind=Happening.JOB_ENDED, job=job), now)
            if self.nodes[node.name].stage is Stage.DRAINING and not status.busy:
                steps += self._step(node.name, NodeEvent(kind=Happening.EMPTIED), now)
        return steps

    def operator(self, node: str, kind: Happening, reason: str, by: str, now: float) -> list[Step]:
        return self._step(node, NodeEvent(kind=kind, cause="operator", reason=reason, by=by), now)

    def acted(self, node: str, verb: Verb, ok: bool, reason: str, now: float) -> list[Step]:
        """An action came to its end. Only resets move a node; a failed drain is tried again by the actor."""
        if verb not in RESETS:
            return []
        kind = Happening.RESET_DONE if ok else Happening.RESET_FAILED
        return self._step(node, NodeEvent(kind=kind, cause=verb.value, reason=reason), now)

    def tick(self, now: float) -> list[Step]:
        """What time alone brings: silence, the next rung, a breaker that closed, a drain that is done."""
        steps: list[Step] = []
        for name in list(self.nodes):
            self._note_silence(name, now)
            steps += self._next_for(name, now)
        self._close_what_is_over(now)
        return steps

    def _close_what_is_over(self, now: float) -> None:
        """A shared cause ends when none of its nodes fails any more, a breaker's trip when there is room again."""
        for subject in list(self.incidents.open):
            members = self.incidents.members.get(subject, frozenset())
            if members and not any(self._failing(name) for name in members):
                self.incidents.close(subject, now)
            kind, _, pool = subject.partition("/")
            if kind == "pool" and not breaker(self.nodes.values(), pool, self.policy).open:
                self.incidents.close(subject, now)

    def _next_for(self, name: str, now: float) -> list[Step]:
        node = self.nodes[name]
        if node.stage is Stage.CLEANING:
            return self._step(name, NodeEvent(kind=Happening.CLEANED), now)
        if node.stage is Stage.DRAINING and not self._scheduled and not node.jobs:
            return self._step(name, NodeEvent(kind=Happening.EMPTIED), now)
        if node.stage is Stage.QUARANTINED and self._may_climb(node):
            return self._step(name, NodeEvent(kind=Happening.CLIMB, cause=node.cause), now)
        if node.stage in IN_SERVICE and (failing := self._failing(name)):
            return self._failed(name, failing, now)
        return self._note_blindness(name, now)

    def _may_climb(self, node: NodeLife) -> bool:
        """A person's quarantine is a person's to end; past the automatic rungs the ticket is written once."""
        rungs = min(self.policy.automatic_rungs, len(self.policy.ladder))
        return node.cause not in ("", "operator") and node.rung <= rungs

    def _take_change(self, name: str, change: VerdictChange, now: float) -> list[Step]:
        standing = self._standing.setdefault(name, {})
        known = standing.get(change.check)
        if known is not None and known.at > change.at:
            return []
        standing[change.check] = change
        if change.after == Health.FAIL.value:
            if known is None or known.after != change.after:
                self._failures.append(Failure(name, now, change.check))
            return self._failed(name, change, now)
        if change.after == Health.DEGRADED.value:
            return self._step(name, _event(Happening.DEGRADED, change), now)
        if self.nodes[name].degraded_by == change.check:
            return self._step(name, _event(Happening.RECOVERED, change), now)
        return []

    def _take_outcome(self, name: str, outcome: OrderOutcome, now: float) -> list[Step]:
        if outcome.verb == Verb.RETEST.value:
            health = HEALTHS.get(outcome.health, Health.UNKNOWN)
            kind = TEST_RESULTS[health]
            event = NodeEvent(
                kind=kind, cause=outcome.cause, reason=outcome.reason, suite=outcome.suite, began=outcome.began
            )
            steps = self._step(name, event, now)
            if health is Health.DEGRADED:
                steps += self._step(name, NodeEvent(kind=Happening.DEGRADED, cause=outcome.cause), now)
            return steps
        verb = next((verb for verb in RESETS if verb.value == outcome.verb), None)
        return self.acted(name, verb, outcome.ok, outcome.reason, now) if verb else []

    def _failing(self, name: str) -> VerdictChange | None:
        return next((c for c in self._standing.get(name, {}).values() if c.after == Health.FAIL.value), None)

    def _failed(self, name: str, change: VerdictChange, now: float) -> list[Step]:
        """A failure in service, past the guards: a shared cause and an open breaker observe and say so."""
        node = self.nodes[name]
        if node.stage not in IN_SERVICE or change.check in self.policy.shadow_checks:
            return []
        shared = shared_cause(self._failures, list(self.nodes.values()), now, self.policy)
        if shared is not None:
            self.incidents.raise_(shared.parent, change.check, shared.reason, now, frozenset(shared.nodes))
        if self.incidents.explaining(name) is not None:
            return []
        guard = breaker(self.nodes.values(), node.pool, self.policy)
        if guard.open:
            self.incidents.raise_(f"pool/{node.pool}", "breaker", guard.reason, now)
            return []
        return self._step(name, _event(Happening.FAILED, change), now)

    def _note_silence(self, name: str, now: float) -> None:
        heard = self.heard.setdefault(name, now)
        if now - heard > self.policy.silent_seconds:
            reason = f"the agent of {name} has not been heard for {now - heard:.0f} s"
            self.incidents.raise_(f"node/{name}", "agent.silent", reason, now)

    def _note_blindness(self, name: str, now: float) -> list[Step]:
        """A check unknown for too long in service is told once, until the node sees again."""
        oldest = min((c.at for c in self._standing.get(name, {}).values() if c.after == "unknown"), default=None)
        if oldest is None:
            self._alarmed.discard(name)
        elif now - oldest > self.policy.blind_seconds and name not in self._alarmed:
            self._alarmed.add(name)
            return self._step(name, NodeEvent(kind=Happening.BLIND, reason="a check has been unknown too long"), now)
        return []

    def _step(self, name: str, event: NodeEvent, now: float) -> list[Step]:
        node = self.nodes.get(name)
        if node is None:
            return []
        after, actions, reason = step(node, event, now, self.policy)
        self.nodes[name] = after
        if after == node and not actions:
            return []
        transition = Transition(node=name, at=now, before=node.stage, after=after.stage, event=event, reason=reason)
        return [Step(node=after, transition=transition, actions=tuple(actions))]


def _event(kind: Happening, change: VerdictChange) -> NodeEvent:
    return NodeEvent(kind=kind, cause=change.check, reason=change.reason, evidence=change.evidence)
