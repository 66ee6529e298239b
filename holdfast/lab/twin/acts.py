"""Faults of GPUs, links and ports that need code, with one small function each."""

from collections.abc import Callable

from holdfast.lab.twin import acts_host, sysfs_amdgpu
from holdfast.lab.twin.breakage import Breakage
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.fault import xid_texts
from holdfast.lab.twin.gpus import MIB
from holdfast.lab.twin.nvml.layout import CAPABILITIES
from holdfast.lab.twin.sysfs_infiniband import ACTIVE, DOWN, LINK_UP, POLLING
from holdfast.lab.twin.sysfs_pci import aer_text

STORM_XID = "95"
STORM_CHUNK = 1000
SLOWEST_RATE = {
    "InfiniBand": "10 Gb/sec (4X SDR)\n",
    "Ethernet": "40 Gb/sec (4X QDR)\n",
}  # values of a port that is down
NCCL_LIBRARY = "/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5"
FIRST_JOB_PID = 41000
JOB_MEMORY_SHARE = 0.8


def xid(at: Breakage) -> None:
    at.say([xid_line(at, str(at.count()))])


def xid_storm(at: Breakage) -> None:
    left = at.count()
    while left > 0:
        at.say([xid_line(at, STORM_XID)] * min(left, STORM_CHUNK))
        left -= STORM_CHUNK


def xid_line(at: Breakage, code: str) -> str:
    address = at.node.gpu_functions()[at.gpu].address
    text = xid_texts().get(code, "unknown error").replace("{gpu}", str(at.gpu))
    who = f"pid={FIRST_JOB_PID + at.gpu}, name=python"
    return f"NVRM: Xid (PCI:{address.domain:04x}:{address.bus:02x}:{address.device:02x}): {code}, {who}, {text}"


def hot_gpu(at: Breakage) -> None:
    _heat_to(at, at.gpu, at.number())


def hot_inlet(at: Breakage) -> None:
    for index in range(at.node.state.gpu_count):
        at.set_gpu("load", 1.0, index)
        _heat_to(at, index, at.number())


def _heat_to(at: Breakage, index: int, celsius: float) -> None:
    gpu = at.node.state.gpu[index]
    at.set_gpu("core_excess_celsius", gpu.core_excess_celsius + celsius - gpu.temperature, index)


def tray_hot(at: Breakage) -> None:
    at.set_gpu("core_excess_celsius", at.number())


def hbm_hot(at: Breakage) -> None:
    at.set_gpu("memory_excess_celsius", at.number())


def aer_fatal(at: Breakage) -> None:
    _aer(at, "fatal", "MalfTLP")


def aer_nonfatal(at: Breakage) -> None:
    _aer(at, "nonfatal", "CmpltTO")


def aer_correctable(at: Breakage) -> None:
    _aer(at, "correctable", "RxErr")


def _aer(at: Breakage, severity: str, kind: str) -> None:
    path = at.node.gpu_functions()[at.gpu].path
    at.write(f"sys/{path}/aer_dev_{severity}", aer_text(severity, {kind: at.count()}))


def port_down(at: Breakage) -> None:
    port, net = f"sys/{at.port.path}", f"sys/{at.port.interface_path}"
    at.write(f"{port}/state", DOWN)
    at.write(f"{port}/phys_state", POLLING)
    if at.port.link_layer in SLOWEST_RATE:
        at.write(f"{port}/rate", SLOWEST_RATE[at.port.link_layer])
    for path, text in ((f"{net}/operstate", "down\n"), (f"{net}/carrier", "0\n")):
        if at.has(path):
            at.write(path, text)
    for path in (f"{port}/counters/link_downed", f"{net}/carrier_changes", f"{net}/carrier_down_count"):
        if at.has(path):
            at.add(path, 1)


def port_flap(at: Breakage) -> None:
    port, net = f"sys/{at.port.path}", f"sys/{at.port.interface_path}"
    port_down(at)
    at.pause(at.number())
    for path, text in ((f"{port}/phys_state", LINK_UP), (f"{port}/rate", f"{at.port.rate}\n")):
        at.write(path, text)
    at.write(f"{port}/state", ACTIVE)
    if at.has(f"{net}/carrier"):
        at.write(f"{net}/operstate", "up\n")
        at.write(f"{net}/carrier", "1\n")
        at.add(f"{net}/carrier_changes", 1)


def port_rate(at: Breakage) -> None:
    gigabits, _, words = at.port.rate.partition(" ")
    rate = at.value or f"{int(gigabits) // 2} {words}"
    at.write(f"sys/{at.port.path}/rate", f"{rate}\n")


def port_missing(at: Breakage) -> None:
    at.take_away(f"sys/class/infiniband/{at.port.name}")
    at.take_away(f"sys/{at.port.function.path}/infiniband")


def port_errors(at: Breakage) -> None:
    counters = f"sys/{at.port.path}/counters"
    at.write(f"{counters}/symbol_error", f"{at.count()}\n")
    at.write(f"{counters}/link_error_recovery", "12\n")
    at.write(f"{counters}/port_rcv_errors", f"{at.count() // 10}\n")


def gpu_process(at: Breakage) -> None:
    """Adds a rank of a training job: a GPU process in the driver, and a process in /proc with its cgroup and
    environment."""
    gpu, pid = at.node.state.gpu[at.gpu], FIRST_JOB_PID + at.gpu
    used = int(gpu.memory_total * JOB_MEMORY_SHARE) // MIB * MIB
    seen: dict[str, float | bytes] = {"process.0.pid": pid, "process.0.used_bytes": used, "process.0.name": b"python"}
    seen |= {"process_count": 1, "memory_used": used, "load": 1.0}
    for path, value in seen.items():
        at.set_gpu(path, value)
    acts_host.training_process(at, pid, NCCL_LIBRARY)


def not_supported(at: Breakage) -> None:
    if at.value not in CAPABILITIES:
        raise TwinError(f"--value: expected one of {', '.join(CAPABILITIES)}, found {at.value!r}")
    lacking = at.node.state.gpu[at.gpu].unsupported | 1 << CAPABILITIES.index(at.value)
    at.set_gpu("unsupported", lacking)


def nvml_missing(at: Breakage) -> None:
    at.take_away(str(at.node.library.relative_to(at.node.directory)))


def _metrics(at: Breakage, data: bytes) -> None:
    at.write_bytes(f"sys/{at.node.gpu_functions()[at.gpu].path}/gpu_metrics", data)


def amd_xgmi_link_down(at: Breakage) -> None:
    _metrics(at, sysfs_amdgpu.metrics(at.node.model, xgmi_link_status=[1, 1, 1, 0, 1, 1, 1, 2]))


def amd_throttle(at: Breakage) -> None:
    """Sets the limiters of gpu_metrics revision 1.5. Later revisions count durations, which a static file cannot
    show."""
    _metrics(at, sysfs_amdgpu.metrics(at.node.model, (1, 5), throttle_status=0x4))


def amd_lost(at: Breakage) -> None:
    at.take_away(f"sys/bus/pci/devices/{at.node.gpu_functions()[at.gpu].address}")


def amd_hang(at: Breakage) -> None:
    at.make_hang(f"sys/{at.node.gpu_functions()[at.gpu].path}/gpu_metrics")


def amd_hot_inlet(at: Breakage) -> None:
    for function in at.node.gpu_functions():
        hwmon = f"sys/{function.path}/hwmon/{sysfs_amdgpu.HWMON}"
        at.write(f"{hwmon}/temp2_input", f"{at.count()}000\n")
        at.write(f"{hwmon}/temp3_input", f"{at.count() - 4}000\n")


def amd_clock_stuck(at: Breakage) -> None:
    at.write(f"sys/{at.node.gpu_functions()[at.gpu].path}/gpu_busy_percent", "100\n")
    _metrics(at, sysfs_amdgpu.metrics(at.node.model, gfxclk=[at.count()] * 8, gfx_activity=100))


def amd_not_responding(at: Breakage) -> None:
    here = f"sys/{at.node.gpu_functions()[at.gpu].path}"
    at.take_away(f"{here}/hwmon")
    at.write_bytes(f"{here}/gpu_metrics", b"")


ACTS: dict[str, Callable[[Breakage], None]] = {
    act.__name__: act
    for act in (
        xid,
        xid_storm,
        hot_gpu,
        hot_inlet,
        tray_hot,
        hbm_hot,
        aer_fatal,
        aer_nonfatal,
        aer_correctable,
        port_down,
        port_flap,
        port_missing,
        port_rate,
        port_errors,
        gpu_process,
        not_supported,
        nvml_missing,
        amd_xgmi_link_down,
        amd_throttle,
        amd_lost,
        amd_not_responding,
        amd_hang,
        amd_clock_stuck,
        amd_hot_inlet,
        acts_host.read_only,
        acts_host.governor,
        acts_host.module_missing,
        acts_host.zombies,
        acts_host.d_state,
        acts_host.kmsg_garbage,
    )
}
