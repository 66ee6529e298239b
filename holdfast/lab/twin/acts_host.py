"""Faults of the host that need code, with one small function each."""

import os

from holdfast.lab.twin import procfs
from holdfast.lab.twin.breakage import Breakage
from holdfast.lab.twin.procfs import TwinProcess
from holdfast.lab.twin.sysfs_host import modules, required_modules

FIRST_ZOMBIE_PID = 60000
STUCK_PID = 52001
SLURM_CGROUP = "/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_{task}"
NCCL_SETTINGS = ("NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7", "NCCL_IB_TIMEOUT=20")


def read_only(at: Breakage) -> None:
    mounts = dict(at.node.mounts)
    for path, (device, kind, options) in mounts.items():
        if path.name == "scratch":
            mounts[path] = (device, kind, options.replace("rw", "ro", 1))
    at.write("proc/self/mounts", procfs.mounts_text(mounts))


def governor(at: Breakage) -> None:
    for cpu in range(at.node.model.cpus):
        at.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", f"{at.value}\n")


def module_missing(at: Breakage) -> None:
    loaded = modules(at.node.model)
    missing = at.value if at.value in loaded else required_modules(at.node.model)[0]
    at.take_away(f"sys/module/{missing}")
    at.write("proc/modules", procfs.modules_text(tuple(name for name in loaded if name != missing)))


def zombies(at: Breakage) -> None:
    for number in range(at.count()):
        _process(at, TwinProcess(pid=FIRST_ZOMBIE_PID + number, comm="python", state="Z", uid=1000))


def d_state(at: Breakage) -> None:
    _process(at, TwinProcess(pid=STUCK_PID, comm="python", state="D", uid=1000, started_ticks=100))


def kmsg_garbage(at: Breakage) -> None:
    """Adds garbage that a reader must survive: bytes that are not text, and one endless line."""
    descriptor = os.open(at.node.kernel_log, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, bytes(range(256)).replace(b"\n", b" ") + b"\n" + b"x" * at.count() + b"\n")
    finally:
        os.close(descriptor)


def training_process(at: Breakage, pid: int, nccl_library: str) -> None:
    """Adds a rank to /proc, with the settings that determine how long its NCCL tolerates a lost network."""
    secret = "API_TOKEN=never-to-be-read"  # tests that only NCCL_* variables leave the node
    one = TwinProcess(
        pid=pid,
        comm="python",
        command=("python", "train.py"),
        state="R",
        uid=1000,
        cgroup=SLURM_CGROUP.format(job=at.value, task=at.gpu),
        environment=(f"SLURM_JOB_ID={at.value}", f"RANK={at.gpu}", secret, *NCCL_SETTINGS),
        libraries=("/usr/bin/python3.11", nccl_library),
    )
    _process(at, one)


def _process(at: Breakage, one: TwinProcess) -> None:
    procfs.process(at.node.proc, one)
    at.make(f"proc/{one.pid}")
