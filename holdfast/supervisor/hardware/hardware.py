"""Samples GPUs and RDMA ports every second on a thread, so that a driver that hangs blocks nothing else."""

import os
import queue
import threading
import time
from collections.abc import Iterator

from holdfast.node.sources.fabric.ports import find_ports
from holdfast.node.sources.gpu.nvml_questions import pids
from holdfast.node.sources.gpu.nvml_session import NVML_ERRORS, NvmlDevice, Session, nvml
from holdfast.supervisor import processes
from holdfast.supervisor.hardware.activity import ActivitySample

_EVERY_SECONDS = 1.0
_SAME_PROCESSES_SECONDS = 10.0  # searching all of /proc costs more than everything else
_WORD_BYTES = 4  # unit of a port's counters
_COUNTERS = ("port_xmit_data", "port_rcv_data")


class Hardware:
    def __init__(self, node: str, sys: str = "/sys", library: str = "") -> None:
        self._session = Session(node, library)
        self._sys = sys
        self._own: set[int] = set()
        self._own_at = 0.0
        self._stop = threading.Event()
        self._samples: queue.SimpleQueue[ActivitySample] = queue.SimpleQueue()
        self._blind: queue.SimpleQueue[str] = queue.SimpleQueue()

    def start(self, command: int) -> None:
        threading.Thread(target=self._watch, args=(command,), daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def samples(self) -> Iterator[ActivitySample]:
        """Samples since the last call."""
        while not self._samples.empty():
            yield self._samples.get()

    def blind(self) -> str:
        """Signals that cannot be used here to detect a hang, and why. Returned once."""
        return "" if self._blind.empty() else self._blind.get()

    def sample(self, command: int) -> ActivitySample:
        return ActivitySample(time.monotonic(), self._gpus(command), self._rdma_bytes())

    def _watch(self, command: int) -> None:
        unseen = self.unseen()
        if unseen:
            self._blind.put(f"not used as signs of a hang: {', '.join(unseen)}")
        while len(unseen) < 2 and not self._stop.wait(_EVERY_SECONDS):
            self._samples.put(self.sample(command))

    def unseen(self) -> tuple[str, ...]:
        devices = self._session.devices(time.time())
        found = [f"GPUs ({devices})"] if isinstance(devices, str) else []
        found += [] if self._rdma_bytes() is not None else ["RDMA ports (none that counts its bytes)"]
        return tuple(found)

    def _gpus(self, command: int) -> tuple[tuple[float, float], ...]:
        """The GPUs on which the command has processes; all GPUs if the driver lists none."""
        devices = self._session.devices(time.time())
        if isinstance(devices, str):
            return ()
        of_command = [device for device in devices if _has_process(device, self._processes(command))]
        values = [_use(device) for device in of_command or devices]
        return tuple(one for one in values if one is not None)

    def _processes(self, command: int) -> set[int]:
        if not self._own or time.monotonic() - self._own_at > _SAME_PROCESSES_SECONDS:
            self._own, self._own_at = {command, *processes.below(command)}, time.monotonic()
        return self._own

    def _rdma_bytes(self) -> float | None:
        try:
            places = find_ports(self._sys, ())
        except OSError:
            return None
        found = [_count(os.path.join(place.path, "counters", name)) for place in places for name in _COUNTERS]
        values = [one for one in found if one is not None]
        return float(sum(values)) * _WORD_BYTES if values else None


def _has_process(device: NvmlDevice, own: set[int]) -> bool:
    try:
        return device.handle is not None and not own.isdisjoint(pids(device.handle))
    except NVML_ERRORS:
        return False


def _use(device: NvmlDevice) -> tuple[float, float] | None:
    if device.handle is None:
        return None
    try:
        use = nvml.nvmlDeviceGetUtilizationRates(device.handle).gpu / 100.0
        return use, nvml.nvmlDeviceGetPowerUsage(device.handle) / 1000.0
    except NVML_ERRORS:
        return None


def _count(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
