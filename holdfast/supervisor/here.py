"""Runs one attempt on this node and reports it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event
from holdfast.supervisor import probe
from holdfast.supervisor.accounts import RunAccounts
from holdfast.supervisor.evidence import capture, gather
from holdfast.supervisor.hardware.agent_verdicts import AgentVerdicts
from holdfast.supervisor.hardware.suspicion import Suspicion
from holdfast.supervisor.nodes.rendezvous import Rendezvous
from holdfast.supervisor.nodes.report import AttemptEnd, AttemptPlan, AttemptReport
from holdfast.supervisor.options import RunOptions
from holdfast.supervisor.watch import AttemptOutcome, AttemptWatch

# Flight Recorder: the name of PyTorch 2.9 and later, and the one before
_DUMP_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_DUMP_PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"  # pipe through which a rank can be asked for its dump

Notify = Callable[[str], None]


@dataclass(slots=True)
class Here:
    options: RunOptions
    rendezvous: Rendezvous
    accounts: RunAccounts
    notify: Notify

    def attempt(self, plan: AttemptPlan) -> AttemptReport:
        options = self.options
        if plan.probe and (unfit := self._probe()):
            return self._refuse(plan, unfit)
        several = f".{options.node}" if plan.master_host else ""  # nodes may share the folder
        log = options.folder / f"attempt_{plan.number}{several}.log"
        log.unlink(missing_ok=True)
        kernel = gather.KernelWatch(options.node, options.kernel_log, time.time())
        try:
            agent = AgentVerdicts(options.node, options.verdict_file)
            members = plan.members if self.rendezvous.leads else ()
            suspicion = Suspicion(options.node, kernel, agent, self.rendezvous, members, options.sys)
            watch = AttemptWatch(options, plan.number, self.accounts, self.rendezvous, suspicion, self.notify)
            watch.alone = len(plan.members) == 1
            watch.dumps = self._dumps(plan)
            outcome = watch.run(self._environ(plan), log)
            return self._report(outcome, log, kernel, self._dumps(plan))
        finally:
            kernel.close()

    def _probe(self) -> list[Evidence]:
        options = self.options
        if not options.probe:
            return []
        self.notify(f"{options.node} is probed first")
        return probe.failures(options.probe, options.node, options.probe_timeout_seconds)

    def _refuse(self, plan: AttemptPlan, unfit: list[Evidence]) -> AttemptReport:
        """Ends the attempt before it starts, so that the leader takes another node."""
        node, why = self.options.node, unfit[0].event.text
        self.notify(why)
        self.rendezvous.announce_end(plan.number, AttemptEnd(node=node, why=why))
        return AttemptReport(node=node, exit_code=1, evidence=tuple(unfit))

    def _environ(self, plan: AttemptPlan) -> dict[str, str]:
        """The environment of the command. Variables that are already set stay."""
        rank = plan.members.index(self.options.node)
        place = _place(plan, rank) if plan.master_host else {}
        dumps = str(self._dumps(plan) / "rank_")
        traced = {name: dumps for name in (*_DUMP_FILES, _DUMP_PIPE)}
        own = {"HOLDFAST_ATTEMPT": str(plan.number), "HOLDFAST_FOLDER": str(self.options.folder)}
        said = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}  # a rank that aborts prints where it was
        return {**said, **traced, **self.options.environ, **os.environ, **place, **own}

    def _dumps(self, plan: AttemptPlan) -> Path:
        """The folder of the ranks' Flight Recorder dumps, if they write any."""
        folder = self.options.folder / f"attempt_{plan.number}.dumps"
        folder.mkdir(exist_ok=True)
        return folder

    def _report(self, outcome: AttemptOutcome, log: Path, kernel: gather.KernelWatch, dumps: Path) -> AttemptReport:
        options, now = self.options, time.time()
        evidence = [*gather.of_log(log, options.node, outcome.lines), *kernel.evidence(now), *gather.of_dumps(dumps)]
        if outcome.ended_by:
            evidence += [_silence(outcome, now)] if outcome.silent_seconds else []
            evidence += [item for one in outcome.presumed for item in one.evidence]
            evidence += outcome.captured
            capture.stacks(outcome.captures, log.with_suffix(".stacks.json"))
        else:
            evidence.append(gather.of_exit(outcome.exit_code, log, options.node, now, options.command))
        return AttemptReport(
            node=options.node, exit_code=outcome.exit_code, ended_by=outcome.ended_by, signal=outcome.signal,
            silent_seconds=outcome.silent_seconds, first_step=outcome.first_step, last_step=outcome.last_step,
            evidence=tuple(evidence), captures=tuple(outcome.captures), unseen=(kernel.blind,) if kernel.blind else (),
        )  # fmt: skip


def _place(plan: AttemptPlan, rank: int) -> dict[str, str]:
    """torchrun takes each of its options from a PET_ variable; other launchers read the rest."""
    host, port = plan.master_host, str(plan.master_port)
    torchrun = {"PET_NNODES": str(len(plan.members)), "PET_MASTER_ADDR": host, "PET_MASTER_PORT": port}
    others = {"MASTER_ADDR": host, "MASTER_PORT": port, "NODE_RANK": str(rank)}
    return {**torchrun, "PET_NODE_RANK": str(rank), **others}


def _silence(outcome: AttemptOutcome, now: float) -> Evidence:
    event = Event(
        kind="watchdog", code="silence", at=now, text=outcome.ended_by, severity="warning",
        detail={"ran_ms": str(int(1000 * outcome.silent_seconds))},
    )  # fmt: skip
    return Evidence(event=event, file="supervisor", role="watchdog")
