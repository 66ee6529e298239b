"""The fleet's decisions: reports, scheduler state and operator requests in; lifecycle steps out. Pure.

The controller stores every step before it acts on it. The demo and the policy preview run the same object.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from holdfast.fleet.decisions import job_requests
from holdfast.fleet.decisions.breaker import breaker_of
from holdfast.fleet.decisions.current_verdicts import MOST_CHECKS
from holdfast.fleet.decisions.fingerprints import Fingerprints
from holdfast.fleet.decisions.guards import SILENT, planned
from holdfast.fleet.decisions.lifecycle.memory import JOB
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.timers import Timers
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import SchedulerView, VerdictState, event_of
from holdfast.fleet.probe_sessions import sessions
from holdfast.fleet.probe_sessions.probing import Probing
from holdfast.fleet.probe_sessions.sessions import NewKey
from holdfast.model.account import Account
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.job import Job
from holdfast.model.lifecycle import CLOSING, IN_USE, Action, EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import LifecycleStep
from holdfast.model.wire.probe import Proof
from holdfast.model.wire.report import OrderOutcome, Report, VerdictChange

EXPECTED_UP = (Stage.READY, Stage.SPARE, Stage.ALLOCATED, Stage.TESTING)  # a node under repair may be down
RESETS = (Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT)
SCHEDULING = (*CLOSING, Verb.UNCORDON)  # verbs that decide whether new work starts on the node


def _no_keys() -> str:
    raise RuntimeError("this fleet has no source of probe keys: pass new_key")


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
        new_key: NewKey = _no_keys,
    ) -> None:
        self._state = VerdictState(policy, nodes, verdicts, incidents=incidents, scheduled=scheduled)
        self.unsaved = Unsaved()
        self.timers = Timers(self._state, self.unsaved)
        self.nodes = self._state.nodes
        self.last_report_at = self._state.last_report_at
        self.incidents = self._state.incidents
        self.probing = Probing(self._state, new_key, proofs)
        self._fingerprints = Fingerprints()

    @property
    def policy(self) -> Policy:
        return self._state.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._state.policy = policy

    @property
    def scheduled(self) -> bool:
        """Whether a scheduler is observed, which shows what runs on a node and whether it is closed."""
        return self._state.scheduled

    def dry_run(self, node: str) -> bool:
        """Whether actions on this node are only recorded."""
        known = self.nodes.get(node)
        return self.policy.of(known.pool if known else "").dry_run

    def too_many_checks(self, reports: Sequence[Report]) -> str:
        """Why these reports of one node are refused; '' if they are accepted."""
        checks = {change.check for report in reports for change in report.changes}
        if not checks or self._state.current.has_room(reports[0].node, checks):
            return ""
        return f"a node has verdicts of at most {MOST_CHECKS} checks"

    def closed(self, node: str) -> str:
        """Admission: why no new work may start on a node; '' if it may, and in a dry run."""
        state = self.nodes[node]
        if self.dry_run(node) or state.takes_work:
            return ""
        why = state.reason or state.cause
        return f"{state.stage.value}: {why}" if state.stage not in IN_USE else f"takes no new work before a test: {why}"

    def verdicts(self, node: str) -> list[VerdictChange]:
        """The current verdict of every check of a node."""
        return self._state.current.verdicts(node)

    def health(self, node: str, now: float) -> str:
        """The worst of its current verdicts; unknown while its agent is silent, fail if its scheduler lost it."""
        if now - self.last_report_at.get(node, -inf) > self.policy.silent_seconds:
            return Health.UNKNOWN.value
        view = self._state.views.get(node)
        if view is not None and view.status.down and self.nodes[node].stage in EXPECTED_UP:
            return Health.FAIL.value
        return self._state.current.health(node).value

    def enrol(
        self, name: str, pool: str, place: Mapping[str, str], now: float, twin: bool = False
    ) -> list[LifecycleStep]:
        if name not in self.nodes:
            self._state.put(NodeState(name=name, pool=pool, place=dict(place), since=now, twin=twin))
        event = NodeEvent(kind=EventKind.ENROLLED, reason="the agent enrolled")
        return self._state.settle(name, pool, place, event, now) + self._state.step(name, event, now)

    def take(self, report: Report, now: float) -> list[LifecycleStep]:
        """A report of an agent. Late and repeated changes never undo newer ones."""
        name = report.node
        if name not in self.nodes:
            return []
        self.timers.begin(now)
        self.last_report_at[name] = max(now, self.last_report_at.get(name, now))
        self.unsaved.take(report)
        self.incidents.close(f"node/{name}", now, "the agent reports again")
        self._state.guards.recovered(name, SILENT)
        steps: list[LifecycleStep] = []
        for change in report.changes:
            steps += self._take_change(report, report.dated(change, now), now)
        for outcome in report.outcomes:
            steps += self._take_outcome(name, outcome, now)
        return steps

    def observe(self, statuses: Sequence[NodeStatus], now: float, began: float | None = None) -> list[LifecycleStep]:
        """The scheduler's view, from a read that began at `began`: jobs that started or ended, empty nodes.

        On a node that takes no work a prolog refuses every job, so one in its prolog or epilog has not used the node.
        If the job ran anyway, this is noticed while it runs or when it ends.
        """
        steps: list[LifecycleStep] = []
        for status in statuses:
            node = self.nodes.get(status.node)
            if node is None:
                continue
            running = status.jobs | (status.passing if node.takes_work else status.passing & node.jobs)
            for job in sorted(running - node.jobs):
                steps += self._state.step(node.name, NodeEvent(kind=EventKind.JOB_STARTED, job=job), now)
            for job in sorted(node.jobs - running):
                steps += self._state.step(node.name, NodeEvent(kind=EventKind.JOB_ENDED, job=job), now)
            self._note_down(self.nodes[node.name], status, now)
            self._state.views[node.name] = SchedulerView(now if began is None else began, status)
            if self.nodes[node.name].stage is Stage.DRAINING and self._is_empty(self.nodes[node.name], status, now):
                steps += self.timers.released(self.nodes[node.name], EventKind.EMPTIED, now)
            if self._state.scheduled and node.stage is Stage.CLEANING is self.nodes[node.name].stage:
                # One poll after the end of the job, because only then the note of the epilog is visible.
                steps += self.timers.cleaned(self.nodes[node.name], now)
        return steps

    def _note_down(self, node: NodeState, status: NodeStatus, now: float) -> None:
        """Opens an incident for a node that the scheduler shows as down, even if its own checks pass."""
        subject = f"node/{node.name}/down"
        if status.down and node.stage in EXPECTED_UP and planned(node, now, self.policy) is None:
            note = f": {status.note}" if status.note else ""
            reason = f"the scheduler shows {node.name} as {status.state or 'down'}{note}"
            self.incidents.raise_(subject, "scheduler.down", reason, now)
        else:
            self.incidents.close(subject, now, f"it is {status.state or 'up'}")

    def _is_empty(self, node: NodeState, status: NodeStatus, now: float) -> bool:
        """Whether nothing runs on a draining node. In a dry run nothing was drained, so no drain is confirmed."""
        if self.dry_run(node.name) or not self._state.scheduled:
            return not status.busy
        return self._state.confirmed_empty(node, now)

    def forget(self, name: str, now: float) -> None:
        """Drops all state of a removed node. A node of the same name that enrols later is a new one."""
        state = self._state
        state.guards.forget(state.nodes.pop(name))
        state.current.forget(name)
        state.last_report_at.pop(name, None)
        state.views.pop(name, None)
        self._fingerprints.forget(name)
        self.unsaved.forget(name)
        self.probing.forget(name)
        state.repeat_offenders.forget(name)
        subject = f"node/{name}"
        for one in [one for one in self.incidents.open if one == subject or one.startswith(f"{subject}/")]:
            self.incidents.close(one, now, "the node was forgotten")

    def _votes(self, name: str) -> bool:
        return self.nodes[name].stage is not Stage.REMOVED

    def note_jobs(self, jobs: Iterable[Job]) -> None:
        """Failed jobs count against the nodes they ran on."""
        self._state.repeat_offenders.note(jobs)

    def operator(self, node: str, kind: EventKind, reason: str, by: str, now: float) -> list[LifecycleStep]:
        steps = self._state.step(node, NodeEvent(kind=kind, cause="operator", reason=reason, by=by), now)
        if kind is EventKind.QUARANTINE and self._state.not_closed(node):
            steps = [*steps[:-1], self._closed_again(steps[-1], now)] if steps else []
        return steps

    def _closed_again(self, step: LifecycleStep, now: float) -> LifecycleStep:
        """The step with another drain. The last drain failed, and only an observed scheduler would repeat it."""
        drain = Action(node=step.node.name, verb=Verb.DRAIN, reason=step.node.reason, cause=step.node.cause, at=now)
        return replace(step, actions=(*(one for one in step.actions if one.verb not in CLOSING), drain))

    def refuses_job(self, node: str, now: float) -> str:
        """Why a job may not request a test of this node now; '' if it may."""
        state = self.nodes[node]
        return job_requests.refusal(state, self._state.guards.tallies[state.pool], self.policy, now)

    def retest_for_job(self, node: str, reason: str, by: str, now: float) -> list[LifecycleStep]:
        return self._state.step(node, NodeEvent(kind=EventKind.RETEST, cause=JOB, reason=reason, by=by), now)

    def may_reset(self, node: str, now: float) -> bool:
        """Whether a repair step may touch the hardware now: nothing runs on the node and nothing can start."""
        return self._state.confirmed_empty(self.nodes[node], now)

    def brake(self, node: str) -> str:
        """Why the breaker does not allow taking a node out of service; '' if it does."""
        state = self.nodes[node]
        guard = breaker_of(self._state.guards.tallies[state.pool], state.pool, self.policy)
        return guard.text if guard.open and not state.out else ""

    def retest(self, node: str, reason: str, by: str, now: float) -> list[LifecycleStep]:
        """Requests a test, because the scheduler shows something that invalidates the last one."""
        return self._state.step(node, NodeEvent(kind=EventKind.RETEST, reason=reason, by=by), now)

    def part_replaced(self, node: str, kind: str, reason: str, now: float) -> list[LifecycleStep]:
        return self._state.step(node, NodeEvent(kind=EventKind.PART_REPLACED, cause=kind, reason=reason), now)

    def acted(self, node: str, verb: Verb, ok: bool, reason: str, now: float) -> list[LifecycleStep]:
        """Takes the outcome of an action. Only resets change the stage; a failed cordon or drain opens an incident."""
        if verb in SCHEDULING and node in self.nodes:
            self._note_scheduling(node, verb, ok, reason, now)
        if verb not in RESETS:
            return []
        kind = EventKind.RESET_DONE if ok else EventKind.RESET_FAILED
        return self._state.step(node, NodeEvent(kind=kind, cause=verb.value, reason=reason), now)

    def _note_scheduling(self, node: str, verb: Verb, ok: bool, reason: str, now: float) -> None:
        subject = f"node/{node}/scheduler"
        if ok:
            self.incidents.close(subject, now, f"{verb.value} succeeded")
        else:
            self.incidents.raise_(subject, f"action.{verb.value}", f"{verb.value} of {node} failed: {reason}", now)

    def found(self, subject: str, account: Account, now: float) -> list[LifecycleStep]:
        """Opens or updates a seam's incident. For its symptoms, victims are not drained and keep their preference."""
        nodes = {one.split("/")[1] for one in account.victims if one.startswith("node/")} & self.nodes.keys()
        self.incidents.found(subject, account, account.sentence, now, nodes)
        steps: list[LifecycleStep] = []
        for name in sorted(nodes):
            check = self.nodes[name].degraded_by
            if check and self.incidents.root_of(name, (check,)) == subject:
                why = f"{check} is a symptom of {account.kind} on {subject}"
                event = NodeEvent(kind=EventKind.RECOVERED, cause=check, reason=why, holder=subject)
                steps += self._state.step(name, event, now)
        return steps

    def tick(self, now: float) -> list[LifecycleStep]:
        """Steps that depend only on the time."""
        return self.timers.tick(now) + self.probing.tick(now)

    def _take_change(self, report: Report, change: VerdictChange, now: float) -> list[LifecycleStep]:
        name = report.node
        if not self._state.current.take(name, change, report.session, report.seq):
            return []
        if change.after == Health.FAIL.value:
            return self._state.failed(name, change, now)
        steps = self._state.well_again(name, now) if self._state.failing(name) is None else []
        if change.after == Health.DEGRADED.value:
            return steps + self._state.step(name, event_of(EventKind.DEGRADED, change), now)
        if not self._state.current.degraded(name):
            self._state.guards.no_longer_degraded(name)
        if self.nodes[name].degraded_by == change.check:
            steps += self._state.step(name, event_of(EventKind.RECOVERED, change), now)
        return steps

    def _take_outcome(self, name: str, outcome: OrderOutcome, now: float) -> list[LifecycleStep]:
        if outcome.verb == Verb.RETEST.value:
            return self._state.tested(name, self._fingerprints.compare(name, outcome, self._votes), now)
        if outcome.verb == sessions.VERB:
            self.probing.answered(name, outcome, now)
            return []
        verb = next((verb for verb in RESETS if verb.value == outcome.verb), None)
        return self.acted(name, verb, outcome.ok, outcome.reason, now) if verb else []
