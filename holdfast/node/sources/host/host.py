"""The host itself: file systems, stuck processes, kernel modules, CPU governor, memory and its error counters."""

import glob
import os
from collections.abc import Callable

from holdfast.formats.host import proc as formats
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.node.sources.host import mounts as host_mounts
from holdfast.node.sources.host.processes import ProcessScan
from holdfast.node.sources.small_file import text_or_nothing
from holdfast.runtime.source import ReadingBuilder

_COSTLY_EVERY_SECONDS = 60.0  # for values that need a file per process or per CPU
_DMA_BUF_SINCE = (5, 12)  # the first kernel whose RDMA stack can map a GPU's memory without nvidia_peermem

_PROCESSES = (
    "host_processes_stuck",
    "host_process_stuck_seconds",
    "host_process_stuck_name",
    "host_processes_zombie",
)
_MODULES = ("host_modules_missing", "host_modules_missing_names")
_EDAC = ("host_edac_correctable_total", "host_edac_uncorrectable_total")
_MEMORY = ("host_memory_available_ratio", "host_memory_total_bytes")


class HostSource:
    name = "host"
    every = 30.0
    deadline = 10.0
    carries: tuple[str, ...] = (
        *host_mounts.NAMES,
        *_PROCESSES,
        *_MODULES,
        *_EDAC,
        *_MEMORY,
        "host_gpudirect",
        "host_cpu_governor",
        "host_load1",
        "host_uptime_seconds",
        "host_boot_id",
        "host_kernel_version",
    )

    def __init__(
        self,
        node: str,
        sys: str = "/sys",
        proc: str = "/proc",
        mounts: tuple[str, ...] = ("/",),
        modules: tuple[str, ...] = (),
    ) -> None:
        self._node_name = node
        self._node = subject.node(node)
        self._sys = sys
        self._proc = proc
        self._mounts = mounts
        self._mount_watch = host_mounts.MountWatch(node, proc, mounts)
        self._modules = modules
        self._scan = ProcessScan(proc)
        self._kept: dict[str, tuple[float, ReadingBuilder]] = {}

    def read(self, now: float) -> Reading:
        builder = self._mount_watch.read()
        builder.merge(self._kept_for(_COSTLY_EVERY_SECONDS, now, "processes", lambda: self._processes(now)))
        builder.merge(self._kept_for(_COSTLY_EVERY_SECONDS, now, "governor", self._governor))
        for part in (self._required_modules, self._gpudirect, self._edac, self._memory, self._kernel):
            builder.merge(part())
        present = [self._node, *(subject.mount(self._node_name, path) for path in self._mounts)]
        return builder.build(self.name, now, present)

    def _kept_for(self, seconds: float, now: float, key: str, ask: Callable[[], ReadingBuilder]) -> ReadingBuilder:
        """Read again only if the last answer is old, or if the clock was set back."""
        kept = self._kept.get(key)
        if kept is None or not 0.0 <= now - kept[0] < seconds:
            kept = self._kept[key] = (now, ask())
        return kept[1]

    def _processes(self, now: float) -> ReadingBuilder:
        builder = ReadingBuilder()
        census = self._scan.scan(now)
        if isinstance(census, str):
            builder.miss(self._node, census, *_PROCESSES)
            return builder
        builder.add(self._node, "host_processes_stuck", float(census.stuck))
        builder.add(self._node, "host_process_stuck_seconds", census.longest_stuck_seconds)
        builder.add(self._node, "host_process_stuck_name", census.longest_stuck_name)
        builder.add(self._node, "host_processes_zombie", float(census.zombies))
        return builder

    def _governor(self) -> ReadingBuilder:
        """The worst governor of all CPUs: one slow core delays the rank that runs on it."""
        builder = ReadingBuilder()
        cpus = f"{self._sys}/devices/system/cpu"
        files = glob.glob(f"{cpus}/cpufreq/policy*/scaling_governor")
        files = files or glob.glob(f"{cpus}/cpu*/cpufreq/scaling_governor")
        found = {text for path in files if (text := text_or_nothing(path))}
        if not os.path.isdir(cpus):
            builder.miss(self._node, f"{cpus} is not there", "host_cpu_governor")
        elif not found:
            builder.add(self._node, "host_cpu_governor", "none")  # firmware or hypervisor sets the frequency
        else:
            builder.add(self._node, "host_cpu_governor", min(found - {"performance"}, default="performance"))
        return builder

    def _loaded(self, module: str) -> bool:
        """Loaded or built in: both show under /sys/module; a tree without it may still list the loaded ones."""
        name = module.replace("-", "_")
        if os.path.isdir(f"{self._sys}/module/{name}"):
            return True
        return name in formats.modules(text_or_nothing(f"{self._proc}/modules"))

    def _required_modules(self) -> ReadingBuilder:
        builder = ReadingBuilder()
        if self._modules and not os.path.exists(f"{self._sys}/module") and not os.path.exists(f"{self._proc}/modules"):
            builder.miss(self._node, f"neither {self._sys}/module nor {self._proc}/modules is there", *_MODULES)
            return builder
        missing = [module for module in self._modules if not self._loaded(module)]
        builder.add(self._node, "host_modules_missing", float(len(missing)))
        builder.add(self._node, "host_modules_missing_names", ", ".join(missing))
        return builder

    def _gpudirect(self) -> ReadingBuilder:
        """How a NIC reaches GPU memory: by nvidia_peermem, or by dma_buf of the open kernel module."""
        builder = ReadingBuilder()
        version = text_or_nothing(f"{self._proc}/driver/nvidia/version")
        release = formats.kernel_release(text_or_nothing(f"{self._proc}/sys/kernel/osrelease"))
        if self._loaded("nvidia_peermem") or self._loaded("nv_peer_mem"):
            builder.add(self._node, "host_gpudirect", "nvidia_peermem")
        elif not version:
            builder.miss(self._node, "the NVIDIA driver is not loaded", "host_gpudirect")
        elif formats.nvidia_driver_is_open(version) and release >= _DMA_BUF_SINCE:
            builder.add(self._node, "host_gpudirect", "dma_buf")
        else:
            builder.add(self._node, "host_gpudirect", "none")
        return builder

    def _edac(self) -> ReadingBuilder:
        """Memory controllers count the errors that ECC repaired and those that it could not."""
        builder = ReadingBuilder()
        controllers = glob.glob(f"{self._sys}/devices/system/edac/mc/mc[0-9]*")
        for name, file in zip(_EDAC, ("ce_count", "ue_count"), strict=True):
            counts = [formats.first_number(text_or_nothing(f"{controller}/{file}")) for controller in controllers]
            counted = [count for count in counts if count is not None]
            if counted:
                builder.add(self._node, name, sum(counted))
            else:
                builder.miss(self._node, "no memory controller reports errors: no EDAC driver is loaded", name)
        return builder

    def _memory(self) -> ReadingBuilder:
        builder = ReadingBuilder()
        info = formats.meminfo(text_or_nothing(f"{self._proc}/meminfo"))
        total, available = info.get("MemTotal"), info.get("MemAvailable")
        if total and available is not None:
            builder.add(self._node, "host_memory_total_bytes", total)
            builder.add(self._node, "host_memory_available_ratio", available / total)
        else:
            builder.miss(self._node, f"{self._proc}/meminfo does not report the memory", *_MEMORY)
        return builder

    def _kernel(self) -> ReadingBuilder:
        builder = ReadingBuilder()
        for name, file in (("host_load1", "loadavg"), ("host_uptime_seconds", "uptime")):
            number = formats.first_number(text_or_nothing(f"{self._proc}/{file}"))
            if number is None:
                builder.miss(self._node, f"{self._proc}/{file} cannot be read", name)
            else:
                builder.add(self._node, name, number)
        for name, file in (("host_boot_id", "random/boot_id"), ("host_kernel_version", "osrelease")):
            if text := text_or_nothing(f"{self._proc}/sys/kernel/{file}"):
                builder.add(self._node, name, text)
            else:
                builder.miss(self._node, f"{self._proc}/sys/kernel/{file} cannot be read", name)
        return builder
