"""Flight Recorder dumps as PyTorch writes them, for tests that need a job at a certain point."""

import pickle
from collections.abc import Sequence
from typing import Any

Step = dict[str, Any]
WORLD = ("0", "default_pg")


def collective(
    sequence: int, kind: str = "all_reduce", size: int = 1024, *, done: bool = True, group: Any = WORLD
) -> Step:
    return {
        "record_id": sequence,
        "pg_id": int(group[0]),
        "process_group": group,
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": f"nccl:{kind}",
        "time_created_ns": 1_700_000_000_000_000_000 + sequence,
        "input_sizes": [[size]],
        "output_sizes": [[size]],
        "input_dtypes": ["Float"],
        "output_dtypes": ["Float"],
        "state": "completed" if done else "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": done,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "frames": [
            {"name": "all_reduce", "filename": "/lib/torch/distributed/distributed_c10d.py", "line": 1},
            {"name": "train_step", "filename": "/job/train.py", "line": 42},
        ],
    }


def direct(words: str, sequence: int, *, done: bool = False, group: Any = WORLD) -> Step:
    return collective(0, done=done, group=group) | {
        "profiling_name": f"nccl:{words}",
        "p2p_seq_id": sequence,
        "is_p2p": True,
    }


def raw(
    world: int, entries: Sequence[Step], groups: dict[str, Any] | None = None, version: str = "2.9"
) -> dict[str, Any]:
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}} | (groups or {})
    return {
        "version": version,
        "pg_config": config,
        "nccl_version": "2.27.3",
        "pg_status": {},
        "entries": list(entries),
    }


def dump(world: int, entries: Sequence[Step], groups: dict[str, Any] | None = None) -> bytes:
    return pickle.dumps(raw(world, entries, groups), protocol=2)
