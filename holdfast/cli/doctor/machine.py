"""What this machine lacks beside the eyes of the sources: tools, places to write, a running agent."""

import os
import shutil
import time
from dataclasses import dataclass

from holdfast.catalog.fixes import fix_for
from holdfast.model.settings import Settings
from holdfast.node.agent.optional import torch_missing

_STALE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that is missing, how to mend it, and what cannot be answered or done for it."""

    what: str
    reason: str
    fix: str
    questions: tuple[str, ...] = ()  # checks that stay unanswered
    costs: str = ""  # what else does not work


def examine(settings: Settings) -> list[Missing]:
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
    """A suite without its active part passes too: that nothing was computed must not go unsaid."""
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
