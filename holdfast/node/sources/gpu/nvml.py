"""GPUs through NVML: load-dependent values every 10 s, the rest every minute."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject, node
from holdfast.node.sources.gpu import nvml_links
from holdfast.node.sources.gpu.isolation import Isolation
from holdfast.node.sources.gpu.nvml_answers import Answers, GpuLostError, Interview
from holdfast.node.sources.gpu.nvml_questions import FAST, FAST_FIELDS, IDENTITY, SLOW, SLOW_FIELDS, names, pids
from holdfast.node.sources.gpu.nvml_session import LIST_AGAIN_SECONDS, NVML_ERRORS, NvmlDevice, Session, nvml

_PROCESSES_SECONDS = 3.0

NodePart = tuple[list[Signal], dict[tuple[Subject, str], str]]
"""What is reported of the node itself, and what is not and why."""


class _Gpus:
    """Base of the fast and the slow source: a lost GPU affects only its own signals."""

    def __init__(self, session: Session, ask: Callable[[NvmlDevice, Answers, float], None], seconds: float) -> None:
        self._session = session
        self._ask = ask  # may raise GpuLostError
        self._seconds = seconds  # a GPU that has not answered by then hangs
        self._isolation = Isolation()

    def read_all(
        self, source: str, about_node: Callable[[], NodePart], missed: Callable[[NvmlDevice], Answers], now: float
    ) -> Reading:
        devices = self._session.devices(now)
        if isinstance(devices, str):
            return Reading(source=source, at=now, blind=devices)
        signals, absent = about_node()
        # A copy for each call: a late call must not see that its device was dropped.
        asked = {
            device.number: partial(self._about, device, replace(device), now)
            for device in devices
            if device.handle is not None
        }
        answered = self._isolation.run(asked, self._seconds)
        for device in devices:
            if device.number in asked and device.number not in answered:
                self._hangs(device)
            answers = answered.get(device.number) or missed(device)
            signals += answers.signals
            absent |= answers.absent
        return Reading(
            source=source, at=now, signals=signals, absent=absent, present=[device.subject for device in devices]
        )

    def _hangs(self, device: NvmlDevice) -> None:
        seconds = self._isolation.hanging(device.number) or self._seconds
        device.handle, device.sick = None, True
        device.trouble = f"a call to this GPU has not returned for {seconds:.0f} s"

    def _about(self, device: NvmlDevice, as_it_was: NvmlDevice, now: float) -> Answers | None:
        answers = Answers(device.subject)
        try:
            self._ask(as_it_was, answers, now)
        except GpuLostError:
            self._session.mark_lost(device)
            return None
        return answers


def _processes(handle: Any) -> list[int] | None:
    try:
        return pids(handle)
    except NVML_ERRORS:
        return None


def _nothing(device: NvmlDevice, carries: Iterable[str]) -> Answers:
    """Values for a GPU that cannot be queried."""
    answers = Answers(device.subject)
    answers.miss([name for name in carries if name.startswith("gpu_")], device.trouble)
    return answers


class NvmlSource:
    """Values that change with the load: temperatures, power, clocks, throttle reasons; and lost GPUs."""

    name = "nvml"
    every = 10.0
    deadline = 10.0
    carries = ("gpu_lost", "gpu_responding", "gpu_trouble", "gpu_reset_required", *names(FAST, FAST_FIELDS))

    def __init__(self, node: str, library: str = "", exclude: Iterable[str] = ()) -> None:
        self._node = node
        self._session = Session(node, library, exclude)
        self._interview = Interview()
        self._gpus = _Gpus(self._session, self._interrogate, 0.6 * self.deadline)

    def read(self, now: float) -> Reading:
        return self._gpus.read_all(self.name, self._about_node, self._without_handle, now)

    def _about_node(self) -> NodePart:
        if not self._session.excluded:
            return [], {}
        return [Signal(node(self._node), "gpu_excluded", ",".join(sorted(self._session.excluded)))], {}

    def _interrogate(self, device: NvmlDevice, answers: Answers, now: float) -> None:
        self._interview.ask(device, FAST, answers, now)
        self._interview.ask_fields(device, FAST_FIELDS, answers, now)
        if answers.failed and not answers.answered:  # the GPU is listed but answers no query
            answers.put("gpu_responding", 0.0)
            answers.miss(("gpu_lost",), answers.failed[0])
        else:
            answers.put("gpu_responding", 1.0)
            answers.put("gpu_lost", 0.0)
        answers.put("gpu_trouble", answers.failed[0] if answers.failed else "")
        answers.put("gpu_reset_required", float(answers.reset_required))

    def _without_handle(self, device: NvmlDevice) -> Answers:
        answers = _nothing(device, self.carries)
        if device.lost:
            del answers.absent[(device.subject, "gpu_lost")]
            answers.put("gpu_lost", 1.0)
        elif device.sick:
            for name in ("gpu_responding", "gpu_trouble"):
                del answers.absent[(device.subject, name)]
            answers.put("gpu_responding", 0.0)
            answers.put("gpu_trouble", device.trouble)
        return answers


class NvmlSlowSource:
    """Values that rarely change: memory, ECC, rows, NVLink, PCIe, fabric, limits; and the identity of each GPU."""

    name = "nvml_slow"
    every = 60.0
    deadline = 20.0
    carries = (*names(SLOW, SLOW_FIELDS), *nvml_links.NAMES, *nvml_links.C2C, *names(IDENTITY), "gpu_pci_address",
               "driver_version")  # fmt: skip

    def __init__(self, node: str, library: str = "", exclude: Iterable[str] = ()) -> None:
        self._node = node
        self._interview = Interview()
        self._gpus = _Gpus(Session(node, library, exclude), self._interrogate, 0.6 * self.deadline)
        self._isolation = Isolation()
        self._for_processes = Session(node, library, exclude)  # processes() is called from another thread than read()
        self._identity: dict[Subject, tuple[float, Answers]] = {}

    def read(self, now: float) -> Reading:
        return self._gpus.read_all(self.name, self._about_node, self._without_handle, now)

    def processes(self) -> dict[int, list[int]] | None:
        """Compute process ids by GPU number, queried now. A GPU without an answer has no entry; None: no GPU
        answers."""
        devices = self._for_processes.devices(0.0)
        if isinstance(devices, str):
            return None
        asked = {device.number: partial(_processes, device.handle) for device in devices if device.handle is not None}
        answered = self._isolation.run(asked, _PROCESSES_SECONDS)
        return {number: found for number, found in answered.items() if found is not None}

    def _about_node(self) -> NodePart:
        here = node(self._node)
        try:
            return [Signal(here, "driver_version", str(nvml.nvmlSystemGetDriverVersion()))], {}
        except NVML_ERRORS as error:
            return [], {(here, "driver_version"): f"the NVIDIA driver answered: {error}"}

    def _interrogate(self, device: NvmlDevice, answers: Answers, now: float) -> None:
        self._interview.ask(device, SLOW, answers, now)
        self._interview.ask_fields(device, SLOW_FIELDS, answers, now)
        nvml_links.read_links(device, self._interview, answers, now)
        nvml_links.read_c2c(device, self._interview, answers, now)
        self._add_identity(device, answers, now)

    def _add_identity(self, device: NvmlDevice, answers: Answers, now: float) -> None:
        """The identity rarely changes: it is read for a new GPU and then every few minutes."""
        asked_at, identity = self._identity.get(device.subject, (0.0, Answers(device.subject)))
        if not identity.signals or not 0 <= now - asked_at < LIST_AGAIN_SECONDS:
            identity = Answers(device.subject)
            self._interview.ask(device, IDENTITY, identity, now)
            identity.put("gpu_pci_address", device.address)
            self._identity[device.subject] = (now, identity)
        answers.signals += identity.signals
        answers.absent |= identity.absent

    def _without_handle(self, device: NvmlDevice) -> Answers:
        """Keep the model, serial number and address of a lost GPU, because they are needed to replace it."""
        answers = _nothing(device, self.carries)
        _, identity = self._identity.get(device.subject, (0.0, Answers(device.subject)))
        answers.signals += identity.signals
        for signal in identity.signals:
            answers.absent.pop((signal.subject, signal.name), None)
        return answers
