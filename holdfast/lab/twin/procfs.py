"""The simulated /proc: host and processes."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.lab.twin.hardware import Model
from holdfast.lab.twin.sysfs_host import AMD_MODULES, MODULES, modules
from holdfast.lab.twin.tree import Tree

KIB = 1024
CLOCK_TICKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinProcess:
    pid: int
    comm: str
    command: tuple[str, ...] = ()
    state: str = "S"
    parent: int = 1
    uid: int = 0
    cgroup: str = "/init.scope"
    environment: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    started_ticks: int = 4200


def write(tree: Tree, model: Model, name: str, boot_time: int, uptime: float) -> None:
    for path, text in {
        "loadavg": "2.11 2.04 1.98 2/2411 48812\n",
        "uptime": uptime_text(uptime, model),
        "stat": stat_text(model, boot_time, uptime),
        "meminfo": _meminfo(2048 * KIB * KIB),
        "modules": modules_text(tuple(modules(model))),
        "version": "Linux version 5.15.0-1058-nvidia (builder@host) (gcc 11.4.0) #59-Ubuntu SMP\n",
        "cmdline": "BOOT_IMAGE=/boot/vmlinuz-5.15.0-1058-nvidia root=UUID=0 ro iommu=pt\n",
        "sys/kernel/hostname": f"{name}\n",
        "sys/kernel/osrelease": "5.15.0-1058-nvidia\n",
        "sys/kernel/pid_max": "4194304\n",
        "sys/kernel/threads-max": "16509214\n",
        "sys/kernel/hung_task_timeout_secs": "120\n",
        "sys/kernel/tainted": "12288\n",
        "sys/kernel/random/boot_id": f"{boot_time:08x}-7c1e-4d52-9f0a-2a5b6c7d8e9f\n",
    }.items():
        tree.file(path, text)
    process(tree, TwinProcess(pid=1, comm="systemd", command=("/sbin/init",)))
    if model.vendor != "nvidia":
        return
    version = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {model.driver}\n"
    tree.file("driver/nvidia/version", version)
    process(tree, TwinProcess(pid=1894, comm="nv-fabricmanage", cgroup="/system.slice/nvidia-fabricmanager.service"))


def mounts_text(mounts: dict[Path, tuple[str, str, str]]) -> str:
    """Mount point -> device, type, options, in the format of /proc/self/mounts."""
    return "".join(f"{device} {path} {kind} {options} 0 0\n" for path, (device, kind, options) in mounts.items())


def modules_text(names: tuple[str, ...]) -> str:
    lines = []
    for name in names:
        size, users = {**MODULES, **AMD_MODULES}[name]
        count = users.count(",")
        lines.append(f"{name} {size} {count} {users or '-'} Live 0x0000000000000000\n")
    return "".join(lines)


def uptime_text(uptime: float, model: Model) -> str:
    return f"{uptime:.2f} {uptime * model.cpus * 0.95:.2f}\n"


def stat_text(model: Model, boot_time: int, uptime: float, blocked: int = 0) -> str:
    ticks = int(uptime * CLOCK_TICKS)
    busy = ticks // 20

    def line(label: str, count: int) -> str:
        return f"{label} {busy * count} 0 {busy * count // 4} {(ticks - busy) * count} 0 0 0 0 0 0\n"

    lines = [line("cpu ", model.cpus)] + [line(f"cpu{cpu}", 1) for cpu in range(model.cpus)]
    tail = f"ctxt {ticks * 90}\nbtime {boot_time}\nprocesses 48812\nprocs_running 2\nprocs_blocked {blocked}\n"
    return "".join(lines) + tail


def process(tree: Tree, one: TwinProcess) -> None:
    here = str(one.pid)
    numbers = f"{one.parent} {one.pid} {one.pid} 0 -1 4194560 900 0 0 0 120 40 0 0 20 0 1 0 {one.started_ticks}"
    for name, text in {
        "comm": f"{one.comm}\n",
        "cmdline": "".join(f"{word}\0" for word in one.command),
        "stat": f"{one.pid} ({one.comm}) {one.state} {numbers} 170000000 3000 18446744073709551615" + " 0" * 27 + "\n",
        "status": _status(one),
        "cgroup": f"0::{one.cgroup}\n",
        "environ": "".join(f"{entry}\0" for entry in one.environment),
        "maps": "".join(_mapping(place, path) for place, path in enumerate(one.libraries)),
        "wchan": "rpc_wait_bit_killable" if one.state == "D" else "0",
    }.items():
        tree.file(f"{here}/{name}", text)


def _mapping(place: int, path: str) -> str:
    start = 0x7F2A40000000 + place * 0x1000000
    return f"{start:x}-{start + 0x200000:x} r-xp 00000000 fd:01 {1048576 + place}    {path}\n"


def _status(one: TwinProcess) -> str:
    word = {"S": "sleeping", "R": "running", "D": "disk sleep", "Z": "zombie"}[one.state]
    lines = [
        f"Name:\t{one.comm}",
        "Umask:\t0022",
        f"State:\t{one.state} ({word})",
        f"Tgid:\t{one.pid}",
        f"Pid:\t{one.pid}",
    ]
    lines += [
        f"PPid:\t{one.parent}",
        f"Uid:\t{one.uid}\t{one.uid}\t{one.uid}\t{one.uid}",
        "VmRSS:\t   92160 kB",
        "Threads:\t1",
    ]
    return "\n".join(lines) + "\n"


def _meminfo(total_kib: int) -> str:
    parts = {"MemTotal": total_kib, "MemFree": total_kib * 8 // 10, "MemAvailable": total_kib * 9 // 10}
    parts |= {"Buffers": 1048576, "Cached": total_kib // 20, "SwapTotal": 0, "SwapFree": 0, "Dirty": 2048}
    return "".join(f"{name + ':':<15} {value:>10} kB\n" for name, value in parts.items())
