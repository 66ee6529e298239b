"""The leading supervisor, which starts attempts until the command succeeds or must stop, and its followers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from holdfast.diagnosis.rules import diagnose as diagnosis_rules
from holdfast.diagnosis.rules.diagnose import Diagnosis, subject_of
from holdfast.diagnosis.rules.next_step import sentence
from holdfast.model.evidence import Evidence
from holdfast.runtime import clock
from holdfast.supervisor import processes, storage_wait
from holdfast.supervisor.accounts import RunAccounts
from holdfast.supervisor.attempt import Attempt, Decision
from holdfast.supervisor.decide import decide, lost_node_evidence, shell_code, without_leader, without_lost_nodes
from holdfast.supervisor.evidence import outliers
from holdfast.supervisor.here import Here
from holdfast.supervisor.nodes.rendezvous import FollowerRendezvous, Rendezvous
from holdfast.supervisor.nodes.report import AttemptPlan, AttemptReport
from holdfast.supervisor.options import RunOptions
from holdfast.supervisor.run_record import RunMemory, RunRecord

Notify = Callable[[str], None]


class FleetClient(Protocol):
    """If the controller does not answer, every method returns an empty result."""

    def unfit(self) -> dict[str, str]:
        """Nodes that are out of service or fail their checks, and why."""

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        """Evidence that the agents of these nodes reported since then."""

    def report_failed_nodes(self, nodes: Sequence[str], reason: str) -> None:
        """Reports nodes that ended an attempt. Nothing should run there until they are repaired."""

    def request_test(self, nodes: Sequence[str], reason: str) -> None:
        """Reports nodes that disappeared without an error. They should be tested before anything runs there."""


class NoFleet:
    def unfit(self) -> dict[str, str]:
        return {}

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        return []

    def report_failed_nodes(self, nodes: Sequence[str], reason: str) -> None:
        pass

    def request_test(self, nodes: Sequence[str], reason: str) -> None:
        pass


class Supervisor:
    def __init__(
        self, options: RunOptions, rendezvous: Rendezvous, notify: Notify, fleet: FleetClient | None = None
    ) -> None:
        self._options, self._rendezvous, self._notify = options, rendezvous, notify
        self._fleet = fleet or NoFleet()
        self._probe_first = False
        self._memory = RunMemory(options.folder)
        found = self._memory.load(options.command)
        self._run = found or RunRecord(command=options.command, began=clock.now())
        ledger = self._run.ledger
        if found:  # the class of the time without a supervisor is unknown
            gap = max(clock.now() - found.saved, 0.0)
            ledger = replace(ledger, unknown=ledger.unknown + gap)
            notify(f"continues the run that began at {_clock(found.began)}, after {len(found.attempts)} attempts")
        self._accounts = RunAccounts(time.monotonic(), ledger, self._run.best_step)
        self._here = Here(options, rendezvous, self._accounts, notify)

    def run(self) -> int:
        processes.adopt_orphans()
        self._rendezvous.assemble()
        while True:
            plan = self._plan(len(self._run.attempts) + 1)
            self._rendezvous.announce(plan)
            report, attempt, decision = self._attempt(plan)
            self._remember(attempt, decision)
            if report.signal:
                return self._finish(128 + report.signal, f"ended by signal {report.signal}")
            if not decision.goes_on:
                return self._finish(decision.exit_code, decision.reason)
            why_not = self._wait(decision)
            if why_not:
                return self._finish(decision.exit_code, why_not)

    def _plan(self, number: int) -> AttemptPlan:
        """Replaces nodes that the controller reports as unfit, as long as there are spares."""
        excluded = self._run.excluded
        members = self._rendezvous.select_members(excluded)
        unfit = {name: why for name, why in self._fleet.unfit().items() if name != self._options.node}
        if unfit.keys() & {*members.names}:
            better = self._rendezvous.select_members([*excluded, *unfit])
            if len(better.names) == len(members.names):
                for name in sorted(unfit.keys() & {*members.names}):
                    self._notify(f"{name} does not take part: {unfit[name]}")
                members = better
        return AttemptPlan(
            number=number, members=members.names, excluded=excluded, master_host=members.master_host,
            master_port=members.master_port, probe=self._probe_first,
        )  # fmt: skip

    def _attempt(self, plan: AttemptPlan) -> tuple[AttemptReport, Attempt, Decision]:
        began, best = clock.now(), self._accounts.best_step
        self._accounts.begin(time.monotonic())
        self._save()
        own = self._here.attempt(plan)
        reports = [own, *self._rendezvous.reports(plan.number, plan.members)]
        lost = tuple(sorted(set(plan.members) - {one.node for one in reports}))
        worst = _worst(reports, lost)
        self._accounts.end(time.monotonic(), well=worst.exit_code == 0 and not worst.ended_by)
        diagnosis = self._diagnose(reports, lost, self._fleet.evidence(plan.members, began))
        attempt = self._record(plan, began, own, worst, diagnosis, best)
        spares = self._rendezvous.can_lose(self._run.excluded, plan.members)
        decision = decide(diagnosis, [*self._run.attempts, attempt], self._options.budget, spares)
        decision = without_leader(without_lost_nodes(decision, lost, spares), self._options.node, spares)
        self._probe_first = decision.probe
        self._report_to_fleet(decision, lost)
        return own, attempt, decision

    def _report_to_fleet(self, decision: Decision, lost: Sequence[str]) -> None:
        reason = f"a supervised job: {decision.reason}" + "".join(f"; {line}" for line in decision.evidence[:1])
        blamed = [name for name in decision.exclude if name not in lost]
        if blamed:
            self._fleet.report_failed_nodes(blamed, reason)
        if lost:
            self._fleet.request_test(lost, reason)

    def _diagnose(
        self, reports: Sequence[AttemptReport], lost: Sequence[str], from_fleet: Sequence[Evidence]
    ) -> Diagnosis:
        evidence = [*from_fleet, *(item for one in reports for item in one.evidence)]
        captures = [capture for one in reports for capture in one.captures]
        since = time.time() - max(one.silent_seconds for one in reports)
        evidence += outliers.evidence(captures, since)
        evidence += lost_node_evidence(lost, since, hang=any(one.silent_seconds for one in reports))
        return diagnosis_rules.diagnose(evidence)

    def _record(
        self, plan: AttemptPlan, began: float, own: AttemptReport, worst: AttemptReport, diagnosis: Diagnosis, best: int
    ) -> Attempt:
        first = diagnosis.causes[0] if diagnosis.causes else None
        return Attempt(
            number=plan.number, began=began, ended=clock.now(), exit_code=worst.exit_code, ended_by=worst.ended_by,
            cause=first.name if first else "", subject=str(subject_of(first)) if first else "",
            says=sentence(first) if first else _bare(worst),
            first_step=own.first_step, last_step=own.last_step, advanced=self._accounts.best_step > best,
            nodes=plan.members,
        )  # fmt: skip

    def _remember(self, attempt: Attempt, decision: Decision) -> None:
        attempt = replace(attempt, decision=f"{decision.action}: {decision.reason}", evidence=decision.evidence)
        excluded = tuple(dict.fromkeys([*self._run.excluded, *decision.exclude]))
        self._run = replace(self._run, attempts=(*self._run.attempts, attempt), excluded=excluded)
        self._save()
        where = f" at step {attempt.last_step}" if attempt.last_step is not None else ""
        self._notify(f"attempt {attempt.number} ended{where}: {attempt.says}")
        for line in decision.evidence:
            self._notify(f"  {line}")
        without = f", without {', '.join(decision.exclude)}" if decision.exclude else ""
        self._notify(f"{decision.action.replace('_', ' ')}{without}: {decision.reason}")

    def _wait(self, decision: Decision) -> str:
        """Waits until the next start. Returns '' or why another start is pointless."""
        if decision.wait_seconds:
            self._notify(f"starts again in {decision.wait_seconds:.0f} s")
            time.sleep(decision.wait_seconds)
        if decision.action != "wait_for_storage" or not decision.storage:
            return ""
        timeout = self._options.storage_timeout_seconds
        trouble = storage_wait.wait(decision.storage, timeout, self._notify)
        return f"{trouble} after {timeout:.0f} s" if trouble else ""

    def _finish(self, code: int, why: str) -> int:
        self._accounts.charge(time.monotonic(), "waiting")
        self._run = replace(self._run, finished=True, exit_code=code, outcome=why)
        self._save()
        number = len(self._run.attempts) + 1
        self._rendezvous.announce(AttemptPlan(number=number, finished=True, exit_code=code, reason=why))
        self._rendezvous.close()
        self._notify(f"{'ended' if not code else f'ends with exit code {code}'}: {why}; {_spent(self._run)}")
        return code

    def _save(self) -> None:
        self._run = replace(
            self._run, saved=clock.now(), ledger=self._accounts.ledger, wall_seconds=self._accounts.wall_seconds,
            best_step=self._accounts.best_step,
        )  # fmt: skip
        self._memory.save(self._run)


def _worst(reports: Sequence[AttemptReport], lost: Sequence[str]) -> AttemptReport:
    """The report that explains the end. A command that ended by itself goes before one that a supervisor ended."""
    failed = [one for one in reports if one.exit_code or one.ended_by]
    if not failed and lost:
        return replace(reports[0], exit_code=1, ended_by=f"{', '.join(lost)} no heartbeat")
    return min(failed, key=lambda one: (bool(one.ended_by), not one.silent_seconds), default=reports[0])


def _bare(report: AttemptReport) -> str:
    return "ended well" if not report.exit_code else f"ended with exit code {shell_code(report.exit_code)}"


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _spent(run: RunRecord) -> str:
    shares = sorted(run.ledger.shares().items(), key=lambda pair: -pair[1])
    return f"{run.wall_seconds:.0f} s: " + ", ".join(f"{100 * share:.0f} % {name}" for name, share in shares)


def follow(options: RunOptions, rendezvous: FollowerRendezvous, notify: Notify) -> int:
    """Run the leader's plans on this node and report the results."""
    options.folder.mkdir(parents=True, exist_ok=True)
    processes.adopt_orphans()
    rendezvous.assemble()
    here = Here(options, rendezvous, RunAccounts(time.monotonic()), notify)
    number = 0
    while True:
        plan = rendezvous.next_plan(number)
        number = plan.number
        if plan.finished:
            notify(plan.reason)
            return plan.exit_code
        if options.node in plan.excluded:
            notify(f"{options.node} is excluded from the job")
            return 0
        if options.node not in plan.members:
            notify(f"{options.node} waits as a spare")
            continue
        report = here.attempt(plan)
        rendezvous.send_report(number, report)
        if report.signal:
            return 128 + report.signal
