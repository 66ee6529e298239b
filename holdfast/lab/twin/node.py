"""One simulated node: a directory with /sys, /proc, a kernel log, an NVML library and a configuration for them."""

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast.lab.twin import gpus, kmsg, procfs, sysfs_amdgpu, sysfs_host, sysfs_infiniband, sysfs_pci
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.hardware import Model, load_model
from holdfast.lab.twin.nvml import state as nvml_state
from holdfast.lab.twin.nvml.build import SONAME, library
from holdfast.lab.twin.nvml.layout import NvmlState
from holdfast.lab.twin.pci import Function, of_role
from holdfast.lab.twin.sysfs_host import required_modules
from holdfast.lab.twin.sysfs_infiniband import TwinRdmaPort
from holdfast.lab.twin.tree import Tree, write_in_place

_IDENTITY = "twin.json"
_UPTIME_AT_BIRTH = 86400.0
CLOCK_GOOD = {"status": "0x2001", "offset_seconds": "0.000012", "max_error_seconds": "0.001500", "synchronised": "1"}


@dataclass(frozen=True, slots=True)
class TwinNode:
    """A handle on a simulated node in a directory; all readers see its changes."""

    directory: Path
    name: str
    model: Model
    state: NvmlState

    @property
    def sys(self) -> Tree:
        return Tree(self.directory / "sys")

    @property
    def proc(self) -> Tree:
        return Tree(self.directory / "proc")

    @property
    def kernel_log(self) -> Path:
        return self.directory / "dev" / "kmsg"

    @property
    def library(self) -> Path:
        return self.directory / "nvml" / SONAME

    @property
    def timex(self) -> Path:
        return self.directory / "timex"

    @property
    def mounts(self) -> dict[Path, tuple[str, str, str]]:
        """Mount point -> device, file system and options of a healthy node."""
        fs = self.directory / "fs"
        return {
            fs / "root": ("/dev/md0", "ext4", "rw,relatime"),
            fs / "scratch": ("/dev/nvme1n1", "ext4", "rw,relatime,errors=remount-ro"),
            fs / "shared": ("storage01:/export/train", "nfs4", "rw,relatime,vers=4.2,proto=rdma"),
        }

    @property
    def boot_time(self) -> int:
        for line in (self.proc.root / "stat").read_text(encoding="ascii").splitlines():
            if line.startswith("btime "):
                return int(line.split()[1])
        raise TwinError(f"{self.proc.root}/stat has no btime line")

    def gpu_functions(self) -> list[Function]:
        return of_role(self.model, "gpu")

    def ports(self) -> list[TwinRdmaPort]:
        return sysfs_infiniband.ports(self.model)

    def say(self, texts: list[str], now: float, priority: int = kmsg.ERR) -> None:
        """Appends lines to the kernel log, stamped with the time since boot."""
        kmsg.say(self.kernel_log, texts, now - self.boot_time, priority)


def make_node(directory: str | Path, model: str = "h100", name: str = "n01", now: float | None = None) -> TwinNode:
    """Creates a healthy node in a new or empty directory."""
    home = Path(os.path.abspath(directory))
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise TwinError(f"{home} is not an empty directory; a twin node is made in a new one")
    hardware = load_model(model)
    compiled = library()  # before anything is written: without a compiler nothing is left over
    for part in ("nvml", "dev", "state", "run"):
        (home / part).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(compiled, home / "nvml" / SONAME)  # a copy for this node: the state file is next to the library
    state = nvml_state.create(home / "nvml" / nvml_state.STATE_FILE)
    addresses = [] if hardware.vendor == "amd" else [function.address for function in of_role(hardware, "gpu")]
    gpus.fill(state, hardware, name, addresses)
    node = TwinNode(home, name, hardware, state)
    born = int(now if now is not None else time.time())
    _fill_trees(node, born - int(_UPTIME_AT_BIRTH))
    _write_settings(node)
    write_in_place(home / _IDENTITY, json.dumps({"name": name, "model": model}) + "\n")
    return node


def open_node(directory: str | Path) -> TwinNode:
    home = Path(os.path.abspath(directory))
    try:
        identity = json.loads((home / _IDENTITY).read_text(encoding="utf-8"))
        name, model = identity["name"], identity["model"]
    except (OSError, ValueError, KeyError, TypeError):
        raise TwinError(
            f"{home} is not a twin node (no readable {_IDENTITY}); make one with `holdfast twin node`"
        ) from None
    return TwinNode(home, name, load_model(model), nvml_state.attach(home / "nvml" / nvml_state.STATE_FILE))


def clock_text(values: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _fill_trees(node: TwinNode, boot_time: int) -> None:
    sysfs_pci.write(node.sys, node.model)
    sysfs_infiniband.write(node.sys, node.model, node.name)
    sysfs_host.write(node.sys, node.model)
    if node.model.vendor == "amd":
        sysfs_amdgpu.write(node.sys, node.model, node.name)
    procfs.write(node.proc, node.model, node.name, boot_time, _UPTIME_AT_BIRTH)
    for mount in node.mounts:
        mount.mkdir(parents=True)
    node.proc.file("self/mounts", procfs.mounts_text(node.mounts))
    node.proc.link("mounts", "self/mounts")
    write_in_place(node.timex, clock_text(CLOCK_GOOD))
    write_in_place(node.kernel_log, "")
    node.say(_boot_messages(node), boot_time + 14.0, kmsg.INFO)


def _boot_messages(node: TwinNode) -> list[str]:
    driver = node.model.driver
    lines = ["Linux version 5.15.0-1058-nvidia", f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {driver}"]
    for port in node.ports():
        lines.append(f"mlx5_core {port.function.address}: firmware version: {node.model.hca_firmware}")
    return lines


def _write_settings(node: TwinNode) -> None:
    home = node.directory
    mounts = [str(path) for path, (_, kind, _options) in node.mounts.items() if kind != "nfs4"]
    shared = [str(path) for path, (_, kind, _options) in node.mounts.items() if kind == "nfs4"]
    roots = {
        "sys": str(node.sys.root),
        "proc": str(node.proc.root),
        "kmsg": str(node.kernel_log),
        "nvml": str(node.library if node.model.vendor == "nvidia" else node.library.with_name("libnvidia-ml.so.none")),
        "timex": str(node.timex),
        "dcgmi": str(home / "bin" / "dcgmi"),
    }
    agent = {
        "state_dir": str(home / "state"),
        "verdict_file": str(home / "run" / "verdict.json"),
        "listen": "127.0.0.1:0",
        "mounts": mounts,
        "shared_mounts": shared,
        "modules": list(required_modules(node.model)),
        "twin": True,
    }
    lines = [f"node = {json.dumps(node.name)}", "", "[roots]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in roots.items()]
    lines += ["", "[agent]"] + [f"{key} = {json.dumps(value)}" for key, value in agent.items()]
    write_in_place(home / "holdfast.toml", "\n".join(lines) + "\n")
