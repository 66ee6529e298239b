"""Hosts that run out of memory, die, or end a process for other reasons."""

from writer.incident import Incident
from writer.lines import completion, elastic, init_lines, megatron, syslog, traceback, watchdog

_OOM = "Out of memory: Killed process 3302 (python) total-vm:210443212kB, anon-rss:198112004kB, file-rss:0kB, shmem-rss:12kB, UID:1000"
_CGROUP = (
    "Memory cgroup out of memory: Killed process 3302 (python) total-vm:90443212kB, anon-rss:62112004kB, file-rss:0kB"
)


def _waiting(*ranks: int, seconds: float = 640.0) -> list[str]:
    return [line for rank in ranks for line in watchdog(rank, seconds + rank / 10)]


ALL = (
    Incident(
        "host_oom", "exit code -9, and the kernel says that it killed the process for memory",
        {"train.log": [*megatron(700, 5, 0), *elastic(28, 2, 2, "n01", -9, (0, 1, 3))], "n01/kern.log": [syslog(26, "n01", _OOM)]},
        "host.oom", "restart_same", "node/n01", never=("host.killed",),
    ),
    Incident(
        "killed_by_somebody", "exit code -9, and no kernel line: somebody else sent the signal",
        {"train.log": [*megatron(700, 5, 0), *elastic(28, 2, 2, "n01", -9, (0, 1, 3))], "n01/kern.log": [syslog(-300, "n01", "nvme nvme0: 32/0/0 default/read/poll queues")]},
        "host.killed", "restart_same", "node/n01", never=("host.oom",),
    ),
    Incident(
        "cgroup_oom_with_peers", "a memory limit ends one rank; peers see error 12 and time out",
        {
            "train.log": [*init_lines("n01", 0, 4), *init_lines("n02", 2, 4), *megatron(80, 5, 0), completion("n01", 0, "n02", 12, 129), *_waiting(0, 1, 3)],
            "n02/kern.log": [syslog(24, "n02", _CGROUP)],
        },
        "host.oom", "restart_same", "node/n02", never=("fabric.retry_exceeded", "job.rank_missing"),
    ),
    Incident(
        "slurm_oom", "Slurm reports the out-of-memory handler",
        {"slurm-4411.out": [*megatron(80, 5, 0), "slurmstepd: error: Detected 1 oom_kill event in StepId=4411.0. Some of the step tasks have been OOM Killed.", "srun: error: n17: task 3: Out Of Memory", "srun: error: n18: tasks 4-7: Terminated"]},
        "host.oom", "restart_same", "node/n17",
    ),
    Incident(
        "slurm_time_limit", "the job's time is over",
        {"slurm-4412.out": [*megatron(80, 5, 0), "slurmstepd: error: *** JOB 4412 ON n17 CANCELLED AT 2026-03-04T11:00:31 DUE TO TIME LIMIT ***", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."]},
        "host.killed", "restart_same",
    ),
    Incident(
        "slurm_node_fail", "a node dies under the job",
        {"slurm-4413.out": [*megatron(80, 5, 0), "srun: error: Node failure on n19", "slurmstepd: error: *** STEP 4413.0 ON n17 CANCELLED AT 2026-03-04T11:00:31 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", "srun: error: n17: tasks 0-7: Terminated"]},
        "host.other", "restart_excluding", "node/n19", ("n19",),
    ),
    Incident(
        "kubernetes_oom", "the container's limit: OOMKilled",
        {"describe.txt": ["    State:          Terminated", "      Reason:       OOMKilled", "      Exit Code:    137"], "llm-w-1.log": [*megatron(80, 5, 0)]},
        "host.oom", "restart_same",
    ),
    Incident(
        "machine_check", "a CPU reports a machine check exception; the node is gone",
        {
            "train.log": [*init_lines("n09", 0, 4), *megatron(80, 5, 0), *_waiting(0, 1)],
            "n10/kern.log": [syslog(25, "n10", "mce: [Hardware Error]: CPU 34: Machine Check Exception: 5 Bank 12: be00000000800400")],
        },
        "host.other", "restart_excluding", "node/n10", ("n10",),
    ),
    Incident(
        "dataloader_oom", "a data loading worker is killed, by the kernel for memory",
        {
            "train.log": [*megatron(310, 5, 0), *traceback(0, "RuntimeError: DataLoader worker (pid 3302) is killed by signal: Killed. ", call="batch = next(loader)"), *elastic(28, 0, 0, "n01", 1, (1,))],
            "n01/kern.log": [syslog(26, "n01", _OOM)],
        },
        "host.oom", "restart_same", "node/n01", never=("job.dataloader",),
    ),
    Incident(
        "dataloader_bus_error", "a worker dies of a bus error: /dev/shm is too small",
        {"train.log": [*megatron(31, 5, 0), "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", *traceback(0, "RuntimeError: DataLoader worker (pid(s) 3302) exited unexpectedly", call="batch = next(loader)"), *elastic(28, 0, 0, "n01", 1, (1,))]},
        "job.dataloader", "stop", "rank/0",
    ),
    Incident(
        "segfault_in_worker", "exit code -11 and nothing else",
        {"train.log": [*megatron(31, 5, 0), "Fatal Python error: Segmentation fault", *elastic(28, 3, 3, "n01", -11, (0, 1, 2))], "n01/kern.log": [syslog(26, "n01", "python[3303]: segfault at 7f79fe00 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]")]},
        "job.exception", "restart_same",
    ),
    Incident(
        "clock_skew", "the node's clock is 95 s ahead of the launcher's: its Xid still comes first",
        {
            "train.log": [*init_lines("n01", 0, 4), *init_lines("n02", 2, 4), *megatron(80, 5, 0), *traceback(3, "RuntimeError: CUDA error: unspecified launch failure"), *elastic(30, 3, 1, "n02", 1, (2,))],
            "n02/kern.log": [syslog(120, "n02", "NVRM: Xid (PCI:0000:1b:00): 79, pid=5001, name=python, GPU has fallen off the bus.")],
        },
        "gpu.fell_off_bus", "restart_excluding", "pci/0000:1b:00", ("n02",),
    ),
)  # fmt: skip
