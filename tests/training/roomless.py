"""Two ranks, one with much to keep and one with little; each function is one rank of a run."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from holdfast.training import Checkpoint
from tests import waiting

LARGE, SMALL = 1 << 20, 1 << 10
STEPS = 6
TIMEOUT_SECONDS = 200.0


def settled(checkpoint: Checkpoint, step: int) -> dict[str, Any]:
    """What the keeper says when the last step is committed, or when rank 0 knows that its partner has no room."""
    refused = torch.zeros(1)
    if dist.get_rank() == 0:
        no_room = "bytes for rank 0 do not fit"
        status = until(checkpoint, lambda now: now["committed"] >= step or no_room in str(now["troubles"]))
        refused[0] = status["committed"] < step
    dist.broadcast(refused, 0)
    return until(checkpoint, lambda now: bool(refused) or now["committed"] >= step)


def until(checkpoint: Checkpoint, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    def as_wanted() -> dict[str, Any] | None:
        status = checkpoint.status()
        return status if condition(status) else None

    return waiting.until(as_wanted, lambda: str(checkpoint.status()), TIMEOUT_SECONDS) or {}


def train(folder: str) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state = {"weights": torch.zeros((LARGE, SMALL)[rank] // 4)}
    checkpoint = Checkpoint(folder, replicas=2, storage_every=2, timeout_seconds=0.2)
    first = checkpoint.load(state) or 0
    begun_with = [first, checkpoint.loaded_from, float(state["weights"][0])]
    for step in range(first + 1, first + STEPS + 1):
        state["weights"] += 1.0
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not checkpoint.save(step, state):  # the keeper may need long to find out that storage cannot be written
            assert time.monotonic() < deadline, checkpoint.troubles
        dist.barrier()
    stored = checkpoint.flush()
    status = settled(checkpoint, step)
    result = {"begun_with": begun_with, "stored": stored, "committed": status["committed"]}
    result["troubles"] = " ".join(status["troubles"].values())
    (Path(folder).parent / f"result.{rank}").write_text(json.dumps(result))
    checkpoint.close()
    dist.barrier()
    dist.destroy_process_group()
