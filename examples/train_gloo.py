"""A small real training on CPUs: data parallel over gloo, checkpoints on disk, continues after the last checkpoint.

torchrun --nproc-per-node 4 examples/train_gloo.py --steps 200 --checkpoints /tmp/checkpoints
"""

import argparse
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

FEATURES, HIDDEN, BATCH, LEARNING_RATE = 32, 64, 16, 0.05


def main() -> None:
    options = _options()
    if "RANK" not in os.environ:  # started without torchrun: the only rank
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", timeout=timedelta(seconds=options.timeout_seconds))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))
    step = load(options.checkpoints, model)
    while step < options.steps:
        step += 1
        train_step(model, step, options.step_seconds)
        if step % options.save_every == 0 or step == options.steps:
            save(options.checkpoints, step, model)
    dist.barrier()
    dist.destroy_process_group()
    if int(os.environ["RANK"]) == 0:
        print("training completed", flush=True)


def train_step(model: nn.Module, step: int, compute_seconds: float) -> None:
    began = time.monotonic()
    generator = torch.Generator().manual_seed(step * 1000 + dist.get_rank())
    inputs = torch.randn(BATCH, FEATURES, generator=generator)
    loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True).sin())
    time.sleep(compute_seconds)  # simulates a larger model
    model.zero_grad()
    loss.backward()
    update(model)
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if dist.get_rank() == 0:
        elapsed = 1000 * (time.monotonic() - began)
        print(f"step {step} loss {mean.item() / dist.get_world_size():.4f} time {elapsed:.1f} ms", flush=True)


def update(model: nn.Module) -> None:
    """Plain gradient descent on the mean gradient of all ranks."""
    for parameter in model.parameters():
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad)
        parameter.data.sub_(parameter.grad, alpha=LEARNING_RATE / dist.get_world_size())


def save(folder: Path, step: int, model: nn.Module) -> None:
    """Rank 0 writes a temporary file and renames it, so that a checkpoint is complete or absent; the other ranks
    wait."""
    if dist.get_rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"step_{step:08d}.pt"
        print(f"saving checkpoint at step {step} to {path}", flush=True)
        torch.save({"step": step, "model": model.state_dict()}, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
        print(f"saved checkpoint at step {step} to {path}", flush=True)
        for old in sorted(folder.glob("step_*.pt"))[:-2]:
            old.unlink()
    dist.barrier()


def load(folder: Path, model: nn.Module) -> int:
    """The last saved step; every rank reads the same file."""
    found: list[Any] = [max(folder.glob("step_*.pt"), default=None)]
    dist.broadcast_object_list(found, src=0)
    if found[0] is None:
        return 0
    state = torch.load(found[0], weights_only=True)
    model.load_state_dict(state["model"])
    if dist.get_rank() == 0:
        print(f"loaded checkpoint {found[0]} at step {state['step']}", flush=True)
    return int(state["step"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    parser.add_argument("--step-seconds", type=float, default=0.02)
    parser.add_argument("--timeout-seconds", type=float, default=600.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
