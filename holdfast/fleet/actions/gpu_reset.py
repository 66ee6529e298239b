"""Resetting GPUs on their own node: what NVIDIA's tool allows, decided first and without side effects, then done.

The rules (nvidia-smi's manual): root; no process on a GPU that is reset, not even a monitor; before Ampere, and with
NVSwitch while fabric manager does not run, all GPUs that NVLink joins go together in one command.
"""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from holdfast.fleet.actions import process
from holdfast.fleet.actions.backend import NoAnswer, Outcome, Result, done, failed, nothing_to_do, refused, would
from holdfast.model.lifecycle import Action, Verb

# From Ampere on a GPU with NVLink can be reset alone. An architecture that is not listed is treated as an old one.
RESET_ALONE = frozenset({"ampere", "ada", "ada lovelace", "hopper", "blackwell", "rubin"})
_IN_USE = "in use"
_EXIT_CODES = {
    3: "the GPU does not support a reset",
    4: "it takes root to reset a GPU",
    15: "the GPU has fallen off the bus: a reset cannot reach it, a power cycle may",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSituation:
    """What the agent knows at this moment; None where it cannot tell, which is never a yes."""

    gpus: Mapping[int, str]
    """Every GPU that answers: our number, and the UUID or PCI address that names it whatever NVML calls it today."""
    suspects: tuple[int, ...] = ()
    """Those to be reset; none means all."""
    processes: Mapping[int, Sequence[int]] | None
    """Process ids on each GPU; a GPU that does not tell has no entry."""
    allocated: bool | None
    """Does a workload own this node, or may one start here?"""
    architecture: str = ""
    nvlink: bool = True
    nvswitch: bool | None = None
    fabric_manager: bool | None = None
    """Is fabric manager running?"""


@dataclass(frozen=True, slots=True)
class Plan:
    gpus: Mapping[int, str]
    together: bool
    why: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """Without -i the tool takes all GPUs, and the switches between them, in one go."""
        which = () if self.together else ("-i", ",".join(self.gpus.values()))
        return ("--gpu-reset", *which)


@dataclass(frozen=True, slots=True)
class Refusal:
    why: str


def decide(now: GpuSituation) -> Plan | Refusal:
    if now.allocated is not False:
        return Refusal(
            "a workload owns the node" if now.allocated else "nobody can tell whether a workload owns the node"
        )
    if now.processes is None:
        return Refusal("nobody can tell which processes are on the GPUs")
    lost = sorted(set(now.suspects) - set(now.gpus))
    if lost or not now.gpus:
        which = f"GPU {', '.join(map(str, lost))}" if lost else "every GPU"
        return Refusal(f"{which} does not answer: a reset cannot reach it, a power cycle may")
    plan = _which(now)
    silent = sorted(set(plan.gpus) - set(now.processes))
    if silent:
        return Refusal(f"nobody can tell which processes are on GPU {', '.join(map(str, silent))}")
    held = {gpu: pids for gpu in plan.gpus if (pids := now.processes[gpu])}
    if held:
        told = "; ".join(f"GPU {gpu}: process {', '.join(map(str, pids))}" for gpu, pids in sorted(held.items()))
        return Refusal(f"GPUs are in use ({told})")
    return plan


def _which(now: GpuSituation) -> Plan:
    wanted = {gpu: now.gpus[gpu] for gpu in sorted(now.suspects or now.gpus)}
    if len(wanted) == len(now.gpus):
        return Plan(now.gpus, True, "all GPUs")
    if not now.nvlink:
        return Plan(wanted, False, "no NVLink joins them to the others")
    if now.architecture.lower() not in RESET_ALONE:
        return Plan(now.gpus, True, f"{now.architecture or 'an unknown architecture'} resets all joined GPUs together")
    if now.nvswitch is not False and now.fabric_manager is not True:
        return Plan(now.gpus, True, "fabric manager does not run, so all GPUs behind NVSwitch go together")
    return Plan(wanted, False, f"{now.architecture} can be reset alone")


class GpuReset:
    """What the agent runs. It hands in what only it can do: look, let go of NVML, and look again afterwards."""

    name = "gpu_reset"
    verbs = frozenset({Verb.RESET_GPU})

    def __init__(
        self,
        look: Callable[[], GpuSituation],
        let_go: Callable[[], AbstractContextManager[object]],
        trouble_after: Callable[[Sequence[int]], str],
        *,
        command: str = "nvidia-smi",
        timeout: float = 120.0,
    ) -> None:
        """`let_go` closes our own NVML session while it lasts; `trouble_after` reads the GPUs again, '' is well."""
        self._look = look
        self._let_go = let_go
        self._trouble_after = trouble_after
        self._command = command
        self._timeout = timeout
        self._last_key = ""

    def perform(self, action: Action, dry_run: bool) -> Outcome:
        if action.verb not in self.verbs:
            return refused(f"a GPU reset is not a way to {action.verb.value}")
        if action.key == self._last_key:
            return nothing_to_do(f"the GPUs of {action.node} were reset for this already")
        plan = decide(self._look())
        if isinstance(plan, Refusal):
            return refused(f"the GPUs of {action.node} are not reset: {plan.why}")
        if dry_run:
            return would(
                f"reset the GPUs of {action.node} ({plan.why}): {shlex.join((self._command, *plan.arguments))}"
            )
        try:
            outcome = self._run(plan)
        except NoAnswer as error:
            return error.outcome
        if outcome.result is Result.DONE:
            self._last_key = action.key
        return outcome

    def _run(self, plan: Plan) -> Outcome:
        binary = process.find(self._command, os.environ.get("PATH", ""))
        with self._let_go():
            answer = process.run((binary, *plan.arguments), os.environ, self._timeout)
        if answer.code != 0:
            why = _EXIT_CODES.get(answer.code, f"exit code {answer.code}")
            retryable = answer.code not in _EXIT_CODES and _IN_USE in f"{answer.out}{answer.err}".lower()
            return failed(f"the reset failed, {why}: {answer.said}", retryable=retryable)
        named = ", ".join(map(str, plan.gpus))
        trouble = self._trouble_after(tuple(plan.gpus))
        if trouble:
            return failed(f"GPU {named} was reset, but afterwards: {trouble}", retryable=False)
        return done(f"GPU {named} was reset and answers ({plan.why})")
