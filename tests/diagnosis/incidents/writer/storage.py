"""Storage that is full, stalls or fails; and saves that only stand near a hang."""

from writer.incident import Incident
from writer.lines import elastic, iso, megatron, new_watchdog, syslog, traceback, watchdog

_SAVING = "saving checkpoint at iteration    2000 to /lustre/ckpt/run3"
_SAVED = "  successfully saved checkpoint from iteration    2000 to /lustre/ckpt/run3"


def _waiting(*ranks: int, seconds: float) -> list[str]:
    return [line for rank in ranks for line in watchdog(rank, seconds + rank / 10)]


ALL = (
    Incident(
        "disk_full_at_save", "no space left while rank 0 writes; the others wait for it",
        {
            "train.log": [
                *megatron(1500, 6, 0),
                "  successfully saved checkpoint from iteration    1500 to /lustre/ckpt/run3", *megatron(1995, 5, 100), _SAVING,
                *traceback(0, "RuntimeError: [enforce fail at inline_container.cc:672] . unexpected pos 4194304 vs 4194200", call="torch.save(state, path)"),
                *elastic(140, 0, 0, "n01", 1, (1, 2, 3)),
            ],
        },
        "storage.full", "wait_for_storage", checkpoint="1500",
    ),
    Incident(
        "quota_exceeded", "a quota, not a disk: errno 122 on one rank's shard",
        {"out/rank0.log": [*megatron(1995, 5, 0), _SAVING], "out/rank6.log": traceback(None, "OSError: [Errno 122] Disk quota exceeded: '/lustre/ckpt/run3/iter_0002000/__6_0.distcp'", call="writer.write(shard)")},
        "storage.full", "wait_for_storage",
    ),
    Incident(
        "save_stall_nfs", "a save begins, the NFS server stops answering, the other ranks time out",
        {
            "train.log": [*megatron(1995, 5, 0), f"[{iso(26)}] {_SAVING}", *_waiting(1, 2, 3, seconds=640)],
            "n01/kern.log": [
                syslog(30, "n01", "nfs: server filer2 not responding, still trying"),
                syslog(160, "n01", "INFO: task python:5000 blocked for more than 120 seconds."),
            ],
        },
        "storage.stall", "wait_for_storage",
    ),
    Incident(
        "save_stall_alone", "a save begins and never ends; exactly the timeout later the others' watchdogs fire",
        {"train.log": [*megatron(1995, 5, 0), f"[{iso(26)}] {_SAVING}", *_waiting(1, 2, 3, seconds=628)]},
        "storage.stall", "wait_for_storage",
    ),
    Incident(
        "save_ended_then_hang", "a save ends; later one rank never joins",
        {
            "train.log": [
                *megatron(1995, 5, 0), f"[{iso(26)}] {_SAVING}", f"[{iso(31)}] {_SAVED}", *megatron(2001, 9, 35),
                *[line for rank in (0, 1, 2, 4, 5, 6, 7) for line in new_watchdog(rank, 690 + rank / 10, 9120, 9121, 9119)],
                *new_watchdog(3, 694, 9117, 9117, 9116),
            ],
        },
        "job.rank_missing", "restart_same", "rank/3", never=("storage.stall",), checkpoint="2000",
    ),
    Incident(
        "stale_handle", "the file system was remounted under the job",
        {"train.log": [*megatron(20, 5, 0), *traceback(2, "OSError: [Errno 116] Stale file handle: '/mnt/data/shard_0031.bin'", file="dataset.py", call="self.file.read(n)"), *elastic(26, 2, 2, "n01", 1, (0, 1, 3))]},
        "storage.stall", "wait_for_storage",
    ),
    Incident(
        "lustre_evicted", "the client is evicted while shards are read",
        {
            "train.log": [*megatron(20, 5, 0), *_waiting(0, 1, 3, seconds=640)],
            "n05/kern.log": [
                syslog(27, "n05", "LustreError: 167-0: scratch-OST0007-osc-ffff9c5a: This client was evicted by scratch-OST0007; in progress operations using this service will fail."),
                syslog(150, "n05", "INFO: task python:5002 blocked for more than 120 seconds."),
            ],
        },
        "storage.stall", "wait_for_storage",
    ),
    Incident(
        "pod_evicted_for_disk", "Kubernetes evicts the pod: its scratch space is used up",
        {"events.txt": ["LAST SEEN   TYPE      REASON      OBJECT          MESSAGE", "2m          Warning   Evicted     pod/llm-w-3     The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 812Mi."], "llm-w-0.log": [*megatron(900, 5, 0), *traceback(0, "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error")]},
        "storage.full", "wait_for_storage",
    ),
)  # fmt: skip
