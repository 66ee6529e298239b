"""State of this node's GPUs before a reset: which answer, which fail a check, which are in use."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.node.agent.node import Node
from holdfast.node.sources.gpu.nvml import NvmlSlowSource
from holdfast.node.sources.gpu.nvml_session import NVML_ERRORS, nvml

_ARCHITECTURES = {
    nvml.NVML_DEVICE_ARCH_AMPERE: "ampere",
    nvml.NVML_DEVICE_ARCH_ADA: "ada",
    nvml.NVML_DEVICE_ARCH_HOPPER: "hopper",
    nvml.NVML_DEVICE_ARCH_BLACKWELL: "blackwell",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSituation:
    """The state of the GPUs now. None means unknown, which never allows a reset."""

    gpus: Mapping[int, str]
    """Every GPU that answers: our number, and the UUID or PCI address that names it whatever NVML calls it today."""
    suspects: tuple[int, ...] = ()
    """Those to reset; empty means all."""
    processes: Mapping[int, Sequence[int]] | None
    """Process ids on each GPU; a GPU without an answer has no entry."""
    allocated: bool | None
    """Does a workload own this node, or may one start here?"""
    architecture: str = ""
    nvlink: bool = True
    nvswitch: bool | None = None
    fabric_manager: bool | None = None
    """Is fabric manager running?"""


def situation(node: Node, guard: threading.Lock, settings: Settings, now: float) -> GpuSituation:
    """Processes are read from the driver now; the rest is the agent's last reading."""
    processes = NvmlSlowSource(node.census.node, settings.roots.nvml).processes()
    here = subject.node(node.census.node)
    with guard:
        latest = {(where, name): value for where, name, value, _ in node.history.latest()}
        suspects = {
            _number(row.subject)
            for verdict in node.verdicts.values()
            for row in verdict.rows
            if row.health is Health.FAIL and subject.kind(row.subject) == "gpu"
        }
        nvlink = "nvlink" not in node.history.inventory.lacks
        jobs = node.history.freshest(here, "jobs_running", now)
    switches = latest.get((here, "nvswitch_devices"))
    manager = latest.get((here, "fabric_manager_running"))
    return GpuSituation(
        gpus={
            _number(where): str(value)
            for (where, name), value in latest.items()
            if name == "gpu_uuid" and latest.get((where, "gpu_lost")) == 0.0
        },
        suspects=tuple(sorted(suspects)),
        processes=processes,
        allocated=None if jobs is None else bool(jobs),
        architecture=_architecture(),
        nvlink=nvlink,
        nvswitch=None if switches is None else bool(switches),
        fabric_manager=None if manager is None else bool(manager),
    )


def _number(gpu: str) -> int:
    return int(gpu.rpartition("/")[2])


def _architecture() -> str:
    try:
        return _ARCHITECTURES.get(nvml.nvmlDeviceGetArchitecture(nvml.nvmlDeviceGetHandleByIndex(0)), "")
    except NVML_ERRORS:
        return ""
