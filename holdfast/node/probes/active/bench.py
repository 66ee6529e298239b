"""Context of an active probe: the devices of this node, its time budget, and its results."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.model.signal import Signal, Value
from holdfast.model.subject import Subject
from holdfast.node.probes.sweep.crew import Crew

Notify = Callable[[str], None]


class CannotMeasure(Exception):
    """The probe cannot run here; the message is the reason, as one clause for an operator."""


@dataclass(frozen=True, slots=True)
class ProbeDevice:
    subject: Subject
    torch_name: str  # cuda:3, or cpu
    label: str  # gpu3, or cpu

    @property
    def cuda(self) -> bool:
        return self.torch_name != "cpu"


@dataclass(slots=True)
class FoundDevices:
    """Signals, and the reasons for missing ones. Devices may add to it from several threads."""

    signals: list[Signal] = field(default_factory=list)
    absent: dict[tuple[Subject, str], str] = field(default_factory=dict)

    def record(self, about: Subject, name: str, value: Value) -> None:
        self.signals.append(Signal(about, name, value))

    def miss(self, about: Subject, reason: str, *names: str) -> None:
        for name in names:
            self.absent[(about, name)] = reason


@dataclass(slots=True)
class Bench:
    node: Subject
    devices: tuple[ProbeDevice, ...]
    seconds: float  # for one probe, on all devices together
    crew: Crew | None = None  # the workers of this node, after a probe has started them

    @property
    def cuda(self) -> bool:
        return any(device.cuda for device in self.devices)

    def on_each(self, work: Callable[[ProbeDevice, float], None]) -> None:
        """Runs a function on all devices: GPUs work at the same time, as in a job; devices that share one CPU take
        turns and share the time."""
        if not self.cuda:
            for device in self.devices:
                work(device, self.seconds / len(self.devices))
            return
        failures: list[Exception] = []

        def guarded(device: ProbeDevice) -> None:
            try:
                work(device, self.seconds)
            except (RuntimeError, ValueError, OSError) as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(device,)) for device in self.devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


class Stopwatch:
    """Remaining part of a time span."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    @property
    def running(self) -> bool:
        return time.perf_counter() < self._end


def settle(device: ProbeDevice) -> None:
    """Waits until the GPU has finished all operations."""
    if device.cuda:
        import torch

        torch.cuda.synchronize(device.torch_name)


def find_devices(node: Subject, stand_ins: int) -> tuple[ProbeDevice, ...]:
    """CUDA devices in PCI bus order, like the driver's numbers.

    Without any, this machine's CPU, which may represent the GPUs of a simulated node.
    """
    import torch

    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        return tuple(ProbeDevice(f"{node}/gpu/{index}", f"cuda:{index}", f"gpu{index}") for index in range(count))
    if stand_ins:
        return tuple(ProbeDevice(f"{node}/gpu/{index}", "cpu", f"gpu{index}") for index in range(stand_ins))
    return (ProbeDevice(node, "cpu", "cpu"),)


def cores(numa_node: str, root: str = "/sys") -> Sequence[int]:
    """The CPUs of a NUMA node that this process may use."""
    with open(f"{root}/devices/system/node/{numa_node}/cpulist", encoding="ascii") as file:
        listed = file.read().strip()
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found & os.sched_getaffinity(0))
