"""Two ranks whose keepers write at different speeds, or of which one writes; each function is one rank of a run."""

import json
import time
from pathlib import Path

import torch
import torch.distributed as dist

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.storage import storage

WORLD = 2
RATES = ("90000", "60000")  # bytes a second: some tenths of a second for a shard, and never the same for both
LIMIT_SECONDS = 200.0


def train(folder: str) -> None:
    """Until two steps were seen whole in storage, and all that was begun is there."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state = {"weights": torch.zeros(5000)}
    options = ("--storage-bytes-per-second", RATES[rank])
    checkpoint = Checkpoint(folder, replicas=2, storage_every=2, keeper_options=options)
    step = checkpoint.load(state) or 0
    seen: set[int] = set()
    enough, deadline = torch.zeros(1), time.monotonic() + LIMIT_SECONDS
    while not enough:
        assert time.monotonic() < deadline, sorted(Path(folder).glob("step-*/*"))
        step += 1
        assert checkpoint.save(step, state), checkpoint.troubles
        seen |= {one for one, _, _ in storage.whole_steps(Path(folder))}
        enough[0] = rank == 0 and len(seen) >= 2
        dist.broadcast(enough, 0)
        time.sleep(0.02)  # a step of training
    while any(len(list(path.glob("rank-?????"))) < WORLD for path in Path(folder).glob("step-*")):
        assert time.monotonic() < deadline, sorted(Path(folder).glob("step-*/*"))
        time.sleep(0.05)
    dist.barrier()
    checkpoint.close()
    dist.destroy_process_group()


def half(folder: str) -> None:
    """Save step 6, which rank 0 alone brings to storage; or tell where it was loaded from."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state = {"weights": torch.full((100,), float(rank))}
    checkpoint = Checkpoint(folder, replicas=1)
    begun_with = [checkpoint.load(state), checkpoint.loaded_from, float(state["weights"][0])]
    if begun_with[0] is None:
        assert checkpoint.save(6, state) and (rank or checkpoint.flush() == [6])
        checkpoint.status()  # an answer means that everything before it was done
    (Path(folder).parent / f"result.{rank}").write_text(json.dumps(begun_with))
    dist.barrier()
    checkpoint.close()
    dist.destroy_process_group()
