"""What this agent can be told to do: run the full suite, reset its GPUs."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from holdfast.fleet.actions import process
from holdfast.fleet.actions.backend import NoAnswer, Result
from holdfast.fleet.actions.gpu_reset import GpuReset, GpuSituation, Plan, decide
from holdfast.model.health import Health
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.model.subject import gpu
from holdfast.model.wire.report import LONGEST_TEXT, OrderOutcome
from holdfast.node.agent.orders.handler import Deed, Order, refused
from holdfast.node.agent.orders.tested import TestedMark
from holdfast.node.agent.suite import Result as SuiteResult
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from holdfast.node.sources.gpu.nvml_session import NVML_ERRORS, nvml
from holdfast.node.sources.host.repairs import tell
from holdfast.node.sources.source import Source

GPU_SOURCES = ("nvml", "nvml_slow", "jobs")  # those that hold the driver open
LET_GO_SECONDS = 20.0
_USED = "the node was used, or its scheduler started, while the suite ran"


def retest(settings: Settings) -> Deed:
    """The bootstrap suite in a process of its own, with an end to the waiting."""
    mark = TestedMark(settings.agent.verdict_file)

    def perform(order: Order, now: float) -> OrderOutcome:
        mark.begin(f"order {order.id}")
        outcome = _tested(settings, order, now, lambda: _USED if mark.taken else "")
        if outcome.health not in (Health.PASS.value, Health.DEGRADED.value):
            mark.not_passed()
        elif not mark.passed():
            return _blind(order, now, _USED)
        return outcome

    return Deed(perform=perform, repeatable=True)


def _tested(settings: Settings, order: Order, now: float, unwanted: Callable[[], str]) -> OrderOutcome:
    """Ended at once when the node is wanted: a suite that burns GPUs must not share them with a job."""
    command = (sys.executable, "-m", "holdfast.node.agent.suite", msgspec.json.encode(settings).decode())
    try:
        answer = process.run(command, os.environ, settings.controller.retest_budget_seconds, unwanted)
        if answer.code != 0:
            return _blind(order, now, f"the suite ended with exit code {answer.code}: {answer.said}")
        found = msgspec.json.decode(answer.out, type=SuiteResult)
    except NoAnswer:
        if why := unwanted():
            return _blind(order, now, why)
        budget = settings.controller.retest_budget_seconds
        return _blind(order, now, f"the suite did not end within its {budget:g} s")
    except msgspec.DecodeError as error:
        return _blind(order, now, f"the suite's answer cannot be read: {error}")
    return OrderOutcome(
        order=order.id,
        verb=order.verb,
        ok=True,
        health=found.health.value,
        cause=found.cause,
        reason=found.reason[:LONGEST_TEXT],
        began=now,
        suite=found.suite,  # what ran, whatever was asked for
        fingerprints=found.fingerprints,
    )


def _blind(order: Order, began: float, why: str) -> OrderOutcome:
    """A test that came to no end is unknown, never a pass."""
    return OrderOutcome(order=order.id, verb=order.verb, ok=False, health="unknown", reason=why, began=began)


class Gate:
    """While it is closed nobody asks the driver anything, so that it can be let go of."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False

    @contextmanager
    def pass_through(self) -> Iterator[bool]:
        """Yields whether it is open; whoever is inside is waited for."""
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
        """Raises NoAnswer when somebody inside does not come out: a hung driver is not reset behind its back."""
        with self._changed:
            self._closed = True
            emptied = self._changed.wait_for(lambda: not self._inside, LET_GO_SECONDS)
        try:
            if not emptied:
                raise NoAnswer("a call of our own hangs in the NVIDIA driver", retryable=True)
            _shut_nvml()
            yield
        finally:
            with self._changed:
                self._closed = False


class Gated:
    """A source that holds the driver open, behind the gate."""

    def __init__(self, source: Source, gate: Gate) -> None:
        self._source = source
        self._gate = gate
        self.name, self.every, self.deadline, self.carries = source.name, source.every, source.deadline, source.carries

    def read(self, now: float) -> Reading:
        with self._gate.pass_through() as admitted:
            if admitted:
                return self._source.read(now)
        return Reading(source=self.name, at=now, blind="the GPUs are being reset")


def gated(sources: Sequence[Source], gate: Gate) -> list[Source]:
    return [Gated(source, gate) if source.name in GPU_SOURCES else source for source in sources]


def _shut_nvml() -> None:
    """Every session of this process at once; each starts again by itself when it is next asked."""
    try:
        while True:
            nvml.nvmlShutdown()
    except NVML_ERRORS:
        return  # nobody holds it any more


def reset_gpu(
    settings: Settings, node: str, gate: Gate, look: Callable[[], GpuSituation], command: str = "nvidia-smi"
) -> Deed:
    """Refused while anything holds a GPU. Afterwards old Xids of what was reset no longer speak against the node."""
    backend = GpuReset(look, gate.closed, lambda gpus: _trouble_after(settings, node, gpus), command=command)

    def perform(order: Order, now: float) -> OrderOutcome:
        if settings.agent.twin and command == "nvidia-smi":
            return refused(order, "the GPUs of this node are simulated: nvidia-smi would reset the machine's own")
        plan = decide(look())
        action = Action(node=node, verb=Verb.RESET_GPU, reason=order.reason, at=now)
        outcome = backend.perform(action, dry_run=False)
        ok = outcome.result in (Result.DONE, Result.NOTHING_TO_DO)
        if ok and isinstance(plan, Plan):
            for number in plan.gpus:
                tell(settings.agent.state_dir, gpu(node, number), now, f"order {order.id}: {outcome.said}")
        return OrderOutcome(order=order.id, verb=order.verb, ok=ok, reason=outcome.said[:LONGEST_TEXT], began=now)

    return Deed(perform=perform, repeatable=False)


def _trouble_after(settings: Settings, node: str, gpus: Sequence[int]) -> str:
    """Read from the driver afresh, not from memory."""
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
            return f"GPU {number} still asks for a reset"
    return ""
