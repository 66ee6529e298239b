"""Order `reset_gpu`: decides by NVIDIA's rules without side effects, then resets the GPUs and reads them again.

The rules (nvidia-smi's manual): root; no process on a GPU that is reset, not even a monitor; before Ampere, and with
NVSwitch while fabric manager does not run, all GPUs that NVLink joins are reset together in one command.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.model.subject import gpu
from holdfast.model.wire.report import LONGEST_TEXT, OrderOutcome
from holdfast.node.agent.orders.gpu_situation import GpuSituation
from holdfast.node.agent.orders.handler import Order, OrderAction, refused
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from holdfast.node.sources.gpu.nvml_session import NVML_ERRORS, nvml
from holdfast.node.sources.host.repairs import record_repair
from holdfast.runtime import process
from holdfast.runtime.errors import NoAnswer
from holdfast.runtime.source import Source

GPU_SOURCES = ("nvml", "nvml_slow", "jobs")  # those that hold the driver open
CLOSE_SECONDS = 20.0
COMMAND_SECONDS = 120.0
# From Ampere on a GPU with NVLink can be reset alone. An architecture that is not listed is treated as an old one.
RESET_ALONE = frozenset({"ampere", "ada", "ada lovelace", "hopper", "blackwell", "rubin"})
_EXIT_CODES = {
    3: "the GPU does not support a reset",
    4: "it takes root to reset a GPU",
    15: "the GPU has fallen off the bus: a reset cannot reach it, a power cycle may",
}


@dataclass(frozen=True, slots=True)
class ResetPlan:
    gpus: Mapping[int, str]
    together: bool
    why: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of nvidia-smi. Without -i it resets all GPUs and the switches between them together."""
        which = () if self.together else ("-i", ",".join(self.gpus.values()))
        return ("--gpu-reset", *which)


@dataclass(frozen=True, slots=True)
class ResetRefusal:
    why: str


def decide(now: GpuSituation) -> ResetPlan | ResetRefusal:
    if now.allocated is not False:
        return ResetRefusal(
            "a workload owns the node" if now.allocated else "it is unknown whether a workload owns the node"
        )
    if now.processes is None:
        return ResetRefusal("it is unknown which processes are on the GPUs")
    lost = sorted(set(now.suspects) - set(now.gpus))
    if lost or not now.gpus:
        which = f"GPU {', '.join(map(str, lost))}" if lost else "every GPU"
        return ResetRefusal(f"{which} does not answer: a reset cannot reach it, a power cycle may")
    plan = _which(now)
    silent = sorted(set(plan.gpus) - set(now.processes))
    if silent:
        return ResetRefusal(f"it is unknown which processes are on GPU {', '.join(map(str, silent))}")
    held = {gpu: pids for gpu in plan.gpus if (pids := now.processes[gpu])}
    if held:
        in_use = "; ".join(f"GPU {gpu}: process {', '.join(map(str, pids))}" for gpu, pids in sorted(held.items()))
        return ResetRefusal(f"GPUs are in use ({in_use})")
    return plan


def _which(now: GpuSituation) -> ResetPlan:
    wanted = {gpu: now.gpus[gpu] for gpu in sorted(now.suspects or now.gpus)}
    if len(wanted) == len(now.gpus):
        return ResetPlan(now.gpus, True, "all GPUs")
    if not now.nvlink:
        return ResetPlan(wanted, False, "no NVLink joins them to the others")
    if now.architecture.lower() not in RESET_ALONE:
        return ResetPlan(
            now.gpus, True, f"{now.architecture or 'an unknown architecture'} resets all joined GPUs together"
        )
    if now.nvswitch is not False and now.fabric_manager is not True:
        return ResetPlan(now.gpus, True, "fabric manager does not run, so all GPUs behind NVSwitch go together")
    return ResetPlan(wanted, False, f"{now.architecture} can be reset alone")


class DriverGate:
    """While it is closed no source calls the driver, so that our NVML session can be closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextmanager
    def pass_through(self) -> Iterator[bool]:
        """Yields whether it is open; `closed` waits for those inside."""
        with self._changed:
            admitted = not self._closed
            self._inside += admitted
        try:
            yield admitted
        finally:
            with self._changed:
                self._inside -= admitted
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Raises NoAnswer when a call inside does not return: a hung driver is not reset."""
        with self._changed:
            self._closed = True
            emptied = self._changed.wait_for(lambda: not self._inside, CLOSE_SECONDS)
        try:
            if not emptied:
                raise NoAnswer("a call of our own hangs in the NVIDIA driver", retryable=True)
            _shut_nvml()
            yield
        finally:
            with self._changed:
                self._closed = False


class GatedSource:
    """A source that holds the driver open, behind the gate."""

    def __init__(self, source: Source, gate: DriverGate) -> None:
        self._source = source
        self._gate = gate
        self.name, self.every, self.deadline, self.carries = source.name, source.every, source.deadline, source.carries

    def read(self, now: float) -> Reading:
        with self._gate.pass_through() as admitted:
            if admitted:
                return self._source.read(now)
        return Reading(source=self.name, at=now, blind="the GPUs are being reset")


def gated(sources: Sequence[Source], gate: DriverGate) -> list[Source]:
    return [GatedSource(source, gate) if source.name in GPU_SOURCES else source for source in sources]


def _shut_nvml() -> None:
    """Close every session of this process; each starts again at its next read."""
    try:
        while True:
            nvml.nvmlShutdown()
    except NVML_ERRORS:
        return  # the last session is closed


def reset_gpu(
    settings: Settings, node: str, gate: DriverGate, situation: Callable[[], GpuSituation], command: str = "nvidia-smi"
) -> OrderAction:
    """Refused while a process or a workload holds a GPU. After a reset, older Xids of the GPU no longer count."""

    def perform(order: Order, now: float) -> OrderOutcome:
        if settings.agent.twin and command == "nvidia-smi":
            return refused(order, "the GPUs of this node are simulated: nvidia-smi would reset the machine's own")
        plan = decide(situation())
        if isinstance(plan, ResetRefusal):
            return refused(order, f"the GPUs of {node} are not reset: {plan.why}"[:LONGEST_TEXT])
        try:
            ok, message = run_plan(plan, gate.closed(), command, lambda gpus: _trouble_after(settings, node, gpus))
        except NoAnswer as error:
            return refused(order, str(error)[:LONGEST_TEXT])
        if ok:
            for number in plan.gpus:
                record_repair(settings.agent.state_dir, gpu(node, number), now, f"order {order.id}: {message}")
        return OrderOutcome(order=order.id, verb=order.verb, ok=ok, reason=message[:LONGEST_TEXT], began=now)

    return OrderAction(perform=perform, repeatable=False)


def run_plan(
    plan: ResetPlan,
    driver_closed: AbstractContextManager[None],
    command: str,
    trouble_after: Callable[[Sequence[int]], str],
) -> tuple[bool, str]:
    """Runs a reset; returns (whether the GPUs were reset and are healthy, a description). `trouble_after` reads the
    GPUs again."""
    binary = process.find(command, os.environ.get("PATH", ""))
    with driver_closed:
        result = process.run((binary, *plan.arguments), os.environ, COMMAND_SECONDS)
    if result.code != 0:
        return False, f"the reset failed, {_EXIT_CODES.get(result.code, f'exit code {result.code}')}: {result.message}"
    named = ", ".join(map(str, plan.gpus))
    if trouble := trouble_after(tuple(plan.gpus)):
        return False, f"GPU {named} was reset, but afterwards: {trouble}"
    return True, f"GPU {named} was reset and answers ({plan.why})"


def _trouble_after(settings: Settings, node: str, gpus: Sequence[int]) -> str:
    """Reads the driver again; '' if all of these GPUs are healthy."""
    readings = [source(node, settings.roots.nvml).read(0.0) for source in (NvmlSource, NvmlSlowSource)]
    if blind := next((reading.blind for reading in readings if reading.blind), ""):
        return blind
    signals = [signal for reading in readings for signal in reading.signals]
    lost: Mapping[str, object] = {s.subject: s.value for s in signals if s.name == "gpu_lost"}
    needs = {s.subject for s in signals if s.name in ("gpu_reset_required", "gpu_recovery_action") and s.value}
    for number in gpus:
        if lost.get(gpu(node, number)) != 0.0:
            return f"GPU {number} does not answer"
        if gpu(node, number) in needs:
            return f"GPU {number} still requests a reset"
    return ""
