"""The fleet's judgement, without I/O or clock: what agents, schedulers and people say in, steps of nodes' lives out.

The controller stores every step before it acts on it; the demo and the policy preview run the same object.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.fleet.decisions.breaker import breaker_of
from holdfast.fleet.decisions.fingerprints import Fingerprints
from holdfast.fleet.decisions.guards import SILENT
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import VerdictState, event_of
from holdfast.fleet.probe_sessions import sessions as sessions
from holdfast.fleet.probe_sessions.probing import Probing
from holdfast.model.account import Account
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.job import Job
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import Step
from holdfast.model.wire.probe import Proof
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

RESETS = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)
WALLS = (Verb.CORDON, Verb.DRAIN, Verb.UNCORDON)  # between a node and new work


class Fleet:
    def __init__(
        self,
        policy: Policy,
        nodes: Iterable[NodeState] = (),
        verdicts: Mapping[str, Iterable[VerdictChange]] | None = None,
        *,
        incidents: Iterable[Incident] = (),
        proofs: Iterable[Proof] = (),
        scheduled: bool = False,
    ) -> None:
        self._judge = VerdictState(policy, nodes, verdicts, incidents=incidents, scheduled=scheduled)
        self.unsaved = Unsaved()
        self._pace = Timers(self._judge, self.unsaved)
        self.nodes = self._judge.nodes
        self.heard = self._judge.heard
        self.incidents = self._judge.incidents
        self.probing = Probing(self._judge, proofs)
        self._fingerprints = Fingerprints()

    @property
    def policy(self) -> Policy:
        return self._judge.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._judge.policy = policy

    def dry_run(self, node: str) -> bool:
        """Whether what is done to this node is only told."""
        life = self.nodes.get(node)
        return self.policy.of(life.pool if life else "").dry_run

    def closed(self, node: str) -> str:
        """Why nothing may start on a node; '' where it may, where a scheduler sees to it, and in a dry run."""
        life = self.nodes[node]
        if self._judge.scheduled or self.dry_run(node) or life.stage in (Stage.READY, Stage.ALLOCATED):
            return ""
        return f"{life.stage.value}: {life.reason or life.cause}"

    def verdicts(self, node: str) -> list[VerdictChange]:
        """The standing verdict of every check of a node."""
        return self._judge.standing.verdicts(node)

    def health(self, node: str, now: float) -> str:
        """The worst of a node's standing verdicts; a silent agent's node is unknown whatever it last said."""
        if now - self.heard.get(node, 0.0) > self.policy.silent_seconds:
            return Health.UNKNOWN.value
        return self._judge.standing.health(node).value

    def enrol(self, name: str, pool: str, place: Mapping[str, str], now: float, twin: bool = False) -> list[Step]:
        if name not in self.nodes:
            self._judge.put(NodeState(name=name, pool=pool, place=dict(place), since=now, twin=twin))
        event = NodeEvent(kind=EventKind.ENROLLED, reason="the agent enrolled")
        return self._judge.settle(name, pool, place, event, now) + self._judge.step(name, event, now)

    def take(self, report: Report, now: float) -> list[Step]:
        """What an agent reported. Late and repeated changes never undo newer ones."""
        name = report.node
        if name not in self.nodes:
            return []
        self._pace.begin(now)
        self.heard[name] = max(now, self.heard.get(name, 0.0))
        self.unsaved.take(report)
        self.incidents.close(f"node/{name}", now, "heard again")
        self._judge.guards.recovered(name, SILENT)
        steps: list[Step] = []
        for change in report.changes:
            steps += self._take_change(report, replace(change, at=report.when(change.at, now)), now)
        for outcome in report.outcomes:
            steps += self._take_outcome(name, outcome, now)
        return steps

    def observe(self, statuses: Sequence[NodeStatus], now: float) -> list[Step]:
        """What the scheduler sees: jobs that started and ended, nodes that became empty."""
        steps: list[Step] = []
        for status in statuses:
            node = self.nodes.get(status.node)
            if node is None:
                continue
            for job in sorted(status.jobs - node.jobs):
                steps += self._judge.step(node.name, NodeEvent(kind=EventKind.JOB_STARTED, job=job), now)
            for job in sorted(node.jobs - status.jobs):
                steps += self._judge.step(node.name, NodeEvent(kind=EventKind.JOB_ENDED, job=job), now)
            if self.nodes[node.name].stage is Stage.DRAINING and not status.busy:
                steps += self._pace.released(self.nodes[node.name], EventKind.EMPTIED, now)
            if self._judge.scheduled and node.stage is Stage.CLEANING is self.nodes[node.name].stage:
                # Not in the look that showed its work gone: the mark that its end left there is seen by now.
                steps += self._pace.cleaned(self.nodes[node.name], now)
        return steps

    def note_jobs(self, jobs: Iterable[Job]) -> None:
        """Jobs that died are remembered of the nodes they died on."""
        self._judge.lemons.note(jobs)

    def operator(self, node: str, kind: EventKind, reason: str, by: str, now: float) -> list[Step]:
        return self._judge.step(node, NodeEvent(kind=kind, cause="operator", reason=reason, by=by), now)

    def brake(self, node: str) -> str:
        """Why a person should think twice before taking a node out of service; '' where the pool can spare it."""
        life = self.nodes[node]
        guard = breaker_of(self._judge.guards.tallies[life.pool], life.pool, self.policy)
        return guard.words if guard.open and not life.out and life.stage is not Stage.REMOVED else ""

    def retest(self, node: str, reason: str, by: str, now: float) -> list[Step]:
        """The scheduler shows something that makes the last test worthless."""
        return self._judge.step(node, NodeEvent(kind=EventKind.RETEST, reason=reason, by=by), now)

    def acted(self, node: str, verb: Verb, ok: bool, reason: str, now: float) -> list[Step]:
        """An action came to its end. Only resets move a node; a wall that cannot be put up needs a person to know."""
        if verb in WALLS and node in self.nodes:
            self._note_wall(node, verb, ok, reason, now)
        if verb not in RESETS:
            return []
        kind = EventKind.RESET_DONE if ok else EventKind.RESET_FAILED
        return self._judge.step(node, NodeEvent(kind=kind, cause=verb.value, reason=reason), now)

    def _note_wall(self, node: str, verb: Verb, ok: bool, reason: str, now: float) -> None:
        subject = f"node/{node}/scheduler"
        if ok:
            self.incidents.close(subject, now, f"{verb.value} succeeded")
        else:
            self.incidents.raise_(subject, f"action.{verb.value}", f"{verb.value} of {node} failed: {reason}", now)

    def found(self, subject: str, account: Account, now: float) -> list[Step]:
        """A seam's incident, opened or told anew. Its victims are not punished, nor chosen last, for its symptoms."""
        nodes = {one.split("/")[1] for one in account.victims if one.startswith("node/")} & self.nodes.keys()
        self.incidents.found(subject, account, account.sentence, now, nodes)
        steps: list[Step] = []
        for name in sorted(nodes):
            check = self.nodes[name].degraded_by
            if check and self.incidents.root_of(name, (check,)) == subject:
                why = f"{check} is a symptom of {account.kind} on {subject}"
                told = NodeEvent(kind=EventKind.RECOVERED, cause=check, reason=why, holder=subject)
                steps += self._judge.step(name, told, now)
        return steps

    def tick(self, now: float) -> list[Step]:
        """What time alone brings."""
        return self._pace.tick(now) + self.probing.tick(now)

    def _take_change(self, report: Report, change: VerdictChange, now: float) -> list[Step]:
        name = report.node
        if not self._judge.standing.take(name, change, report.session, report.seq):
            return []
        if change.after == Health.FAIL.value:
            return self._judge.failed(name, change, now)
        steps = self._judge.well_again(name, now) if self._judge.failing(name) is None else []
        if change.after == Health.DEGRADED.value:
            steps += self._judge.guarded(name, event_of(EventKind.DEGRADED, change), now)
        elif self.nodes[name].degraded_by == change.check:
            steps += self._judge.step(name, event_of(EventKind.RECOVERED, change), now)
        return steps

    def _take_outcome(self, name: str, outcome: OrderOutcome, now: float) -> list[Step]:
        if outcome.verb == Verb.RETEST.value:
            return self._judge.tested(name, self._fingerprints.judged(name, outcome), now)
        if outcome.verb == sessions.VERB:
            self.probing.answered(name, outcome, now)
            return []
        verb = next((verb for verb in RESETS if verb.value == outcome.verb), None)
        return self.acted(name, verb, outcome.ok, outcome.reason, now) if verb else []
