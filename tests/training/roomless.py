"""Two ranks, one with much to keep and one with little; each function is one rank of a run."""

import json
import time
from pathlib import Path

import torch
import torch.distributed as dist

from holdfast.training import Checkpoint

LARGE, SMALL = 1 << 20, 1 << 10
STEPS = 6
PATIENCE_SECONDS = 200.0


def train(folder: str) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state = {"weights": torch.zeros((LARGE, SMALL)[rank] // 4)}
    checkpoint = Checkpoint(folder, replicas=2, storage_every=2, patience_seconds=0.2)
    first = checkpoint.load(state) or 0
    begun_with = [first, checkpoint.loaded_from, float(state["weights"][0])]
    for step in range(first + 1, first + STEPS + 1):
        state["weights"] += 1.0
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not checkpoint.save(step, state):  # the keeper may need long to find out that storage cannot be written
            assert time.monotonic() < deadline, checkpoint.troubles
        dist.barrier()
    stored = checkpoint.flush()
    status = checkpoint.status()
    told = {"begun_with": begun_with, "stored": stored, "committed": status["committed"]}
    told["troubles"] = " ".join(status["troubles"].values())
    (Path(folder).parent / f"told.{rank}").write_text(json.dumps(told))
    checkpoint.close()
    dist.barrier()
    dist.destroy_process_group()
