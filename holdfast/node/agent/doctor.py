"""Finds what is missing on this machine: unreadable sources, tools, directories, a running agent."""

import os
import shutil
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from holdfast.catalog.fixes import fix_for
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.model.subject import kind
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import questions
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import check_node
from holdfast.node.agent.optional import torch_missing
from holdfast.node.sources.gpu.dcgm import DcgmDiagSource

_STAGE = "doctor"
_DIAGNOSTIC_CHECK = "dcgm.diag"
_STALE_SECONDS = 120.0
_AMD, _NVIDIA = "amdgpu", ("nvml", "nvml_slow", "dcgm_exporter", "dcgm_diag", "fabric_manager")


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that is missing, how to fix it, and what does not work without it."""

    what: str
    reason: str
    fix: str
    questions: tuple[str, ...] = ()  # checks that stay unanswered
    costs: str = ""  # what else does not work


@dataclass(frozen=True, slots=True)
class DoctorReport:
    node: str
    missing: list[Missing]
    asked: int
    unanswered: list[str]
    """Checks without an answer."""


def diagnose(settings: Settings) -> DoctorReport:
    node = _read_once(settings)
    verdicts = node.verdicts
    blind = node.history.blind_sources()
    foreign = of_another_vendor(blind, any(kind(subject) == "gpu" for subject, *_ in node.history.latest()))
    missing = [one for one in _group(blind, verdicts.values()) if not foreign.issuperset(one.what.split(", "))]
    return DoctorReport(
        node.census.node,
        [*missing, *missing_on_machine(settings)],
        len(verdicts),
        sorted(name for name, verdict in verdicts.items() if _unknown_reasons(verdict)),
    )


def of_another_vendor(blind: Collection[str], gpus_seen: bool) -> set[str]:
    """Blind sources that this node does not need: a node with AMD GPUs needs no NVML, and the reverse."""
    if not gpus_seen:
        return set()
    return set(_NVIDIA if _NVIDIA[0] in blind else (_AMD,)) & set(blind)


def _read_once(settings: Settings) -> Node:
    """Runs the checks of every stage, but no DCGM diagnostic: it is enough to know that DCGM could run one."""
    settings = replace(settings, probes=replace(settings.probes, active=False))
    asked = dict.fromkeys(
        question.check.name for stage in ("passive", "bootstrap") for question in questions(settings, stage)
    )
    if found := shutil.which(settings.roots.dcgmi):
        asked.pop(_DIAGNOSTIC_CHECK, None)
    node = check_node(replace(settings, stages={**settings.stages, _STAGE: tuple(asked)}), _STAGE)
    if not found:
        reason = f"the DCGM diagnostic cannot run: {settings.roots.dcgmi} is not installed"
        node.history.promise(DcgmDiagSource.name, DcgmDiagSource.carries)
        now = AgentClock().now()
        node.history.add(Reading(source=DcgmDiagSource.name, at=now, blind=reason))
        if question := node.questions.get(_DIAGNOSTIC_CHECK):
            node.verdicts[_DIAGNOSTIC_CHECK] = question.check(node.history.window(now, question.check.span))
    return node


def _group(blind: dict[str, str], verdicts: Iterable[Verdict]) -> list[Missing]:
    """One entry per cause: sources with the same reason, or a reason that several checks share."""
    asked_by: dict[str, set[str]] = {reason: set() for reason in blind.values()}
    for verdict in verdicts:
        for reason in _unknown_reasons(verdict):
            for cause in [known for known in blind.values() if known in reason] or [reason]:
                asked_by.setdefault(cause, set()).add(verdict.check)
    return [_missing(blind, reason, names) for reason, names in asked_by.items()]


def _missing(blind: dict[str, str], reason: str, names: set[str]) -> Missing:
    sources = [source for source, known in blind.items() if known == reason]
    what = ", ".join(sources) or "reading"
    return Missing(what, reason, fix_for(sources[0] if sources else "", reason), tuple(sorted(names)))


def _unknown_reasons(verdict: Verdict) -> list[str]:
    if verdict.disabled:
        return []
    return list(dict.fromkeys(row.reason for row in verdict.rows if row.health is Health.UNKNOWN))


def missing_on_machine(settings: Settings) -> list[Missing]:
    found = [
        _directory("state directory", settings.agent.state_dir, "outages and verdicts do not survive a restart"),
        _directory("verdict directory", os.path.dirname(settings.agent.verdict_file), "holdfast gate cannot answer"),
        _agent(settings.agent.verdict_file),
        _scheduler(),
        _other_processes(settings.roots.proc),
        _active(settings),
    ]
    return [missing for missing in found if missing]


def _directory(what: str, path: str, costs: str) -> Missing | None:
    if not path:
        return Missing(what, "it is switched off in the configuration", "name a directory", costs=costs)
    existing = path
    while not os.path.exists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    if os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK):
        return None
    fix = f"mkdir -p {path} and give it to the user that runs the agent, or name another in the configuration"
    return Missing(what, f"{path} cannot be written by this user", fix, costs=costs)


def _agent(verdict_file: str) -> Missing | None:
    costs = "nothing watches this node, and holdfast gate answers unknown"
    fix = "systemctl enable --now holdfast-agent (deploy/systemd/holdfast-agent.service), or run `holdfast agent`"
    try:
        age = time.time() - os.stat(verdict_file).st_mtime
    except OSError:
        return Missing("agent", f"it does not run: there is no {verdict_file}", fix, costs=costs)
    if age > _STALE_SECONDS:
        return Missing("agent", f"it does not run: {verdict_file} is {age:.0f} s old", fix, costs=costs)
    return None


def _active(settings: Settings) -> Missing | None:
    """A suite can pass without its active part, so tell the user that nothing was computed."""
    if settings.probes.active is False or settings.agent.twin:
        return None
    reason = torch_missing(settings)
    costs = "the full suite looks and computes nothing: no burn-in, memory, copies, bits or sums are tested"
    return Missing("active probes", reason, fix_for("probes", reason), costs=costs) if reason else None


def _scheduler() -> Missing | None:
    if any(shutil.which(tool) for tool in ("scontrol", "kubectl")):
        return None
    fix = "install the Slurm client commands or kubectl where a scheduler runs this node; nothing to do elsewhere"
    reason = "neither scontrol nor kubectl is installed"
    return Missing("scheduler", reason, fix, costs="holdfast gate cannot write a drain reason")


def _other_processes(proc: str) -> Missing | None:
    """Process 1 is another user's unless we are root."""
    try:
        with open(f"{proc}/1/environ", "rb"):
            return None
    except PermissionError:
        reason = "the environment of other users' processes cannot be read"
    except OSError:
        reason = f"{proc} does not show other users' processes (hidepid)"
    fix = "run the agent as root, or give it CAP_SYS_PTRACE; remount /proc without hidepid"
    return Missing("processes", reason, fix, costs="a job's NCCL timeouts are not known, and defaults are assumed")
