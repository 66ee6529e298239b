"""Ranks of test_callbacks.py: each a node whose trainer wrote files of its own."""

import os
from pathlib import Path

import torch.distributed as dist

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.callbacks import Files, resume


def write(folder: str, memory: str) -> None:
    """The first node has the model, each its random numbers."""
    ckpt, here = _begin(folder, memory)
    written = here / "checkpoint-1"
    (written / "deep").mkdir(parents=True)
    (written / "deep" / f"rng_{dist.get_rank()}").write_bytes(b"%d" % dist.get_rank())
    if dist.get_rank() == 0:
        (written / "model").write_bytes(bytes(range(256)) * 10)
        (written / "empty").touch()
    ckpt.save(1, {"files": Files(written)})
    ckpt.flush()
    dist.barrier()


def read(folder: str, memory: str) -> None:
    ckpt, here = _begin(folder, memory)
    (here / "found").write_text(str(resume(ckpt, here)))
    dist.barrier()


def _begin(folder: str, memory: str) -> tuple[Checkpoint, Path]:
    dist.init_process_group("gloo")
    os.environ["LOCAL_RANK"] = "0"
    here = Path(memory) / os.environ["RANK"]
    here.mkdir(parents=True, exist_ok=True)
    return Checkpoint(folder), here
