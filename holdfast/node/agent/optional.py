"""Optional checks: part of the suite where their tool is installed or requested."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from holdfast.model.settings import Settings
from holdfast.node.agent.census import Census

ACTIVE_PREFIX = "probe."  # checks of the active probes' results
NOT_REQUIRED = "and neither the configuration nor the manifest requests it"


@dataclass(frozen=True, slots=True)
class Tool:
    command: Callable[[Settings], str]
    expected_by: str  # the signal in a manifest that shows that nodes of this kind have it


TOOLS: Mapping[str, Tool] = {
    "dcgm.diag": Tool(lambda settings: settings.roots.dcgmi, "dcgm_version"),
    "probe.rdma_loopback": Tool(lambda settings: "ib_write_bw", "perftest_version"),
}


def left_out(settings: Settings, check: str, stage: str, census: Callable[[Settings], Census]) -> str:
    """Why this check is not part of the stage here, or ''. A requested check is always part of it, and unknown without
    its tool."""
    asked = check in settings.checks or check in settings.stages.get(stage, ())
    if check.startswith(ACTIVE_PREFIX) and (why := _inactive(settings, asked)):
        return why
    tool = TOOLS.get(check)
    if tool is None or asked:
        return ""
    command = tool.command(settings)
    if shutil.which(command) or any(tool.expected_by in values for values in census(settings).expect.values()):
        return ""
    return f"{command} is not installed, {NOT_REQUIRED}"


def _inactive(settings: Settings, asked: bool) -> str:
    """Why the active part is off: disabled, a simulated node, or a missing dependency."""
    if settings.probes.active is False:
        return "active probes are switched off"
    if settings.probes.active or asked:
        return ""
    if settings.agent.twin:
        return "the node is simulated; [probes] active = true runs them on this CPU all the same"
    return f"{missing}, {NOT_REQUIRED}" if (missing := torch_missing(settings)) else ""


def torch_missing(settings: Settings) -> str:
    """Why the probes could not run, without loading torch: on a node with GPUs a build for CPUs tests nothing."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        return "torch is not installed"
    if not Path(settings.roots.proc, "driver/nvidia/version").exists():
        return ""
    try:
        text = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    lines = [line for line in text.splitlines() if line.startswith("cuda")]
    if any(line.endswith("None") for line in lines):
        return "the torch that is installed is built without CUDA"
    return "" if _has_cuda_driver() else "libcuda.so.1 is not here (in a container: the driver capability compute)"


def _has_cuda_driver() -> bool:
    """Search as the loader does, but do not load the library: it would stay in this process."""
    folders = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    return any(Path(folder, "libcuda.so.1").exists() for folder in folders) or find_library("cuda") is not None
