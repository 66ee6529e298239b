"""Small trainings under a Guard, with a fault at a known place. Each function is one rank of a run."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from holdfast.training import Checkpoint, Guard, Parallel, Random
from holdfast.training.checkpoint.storage.target import INDEX, rank_folder
from holdfast.training.checkpoint.untrusted_steps import noted
from holdfast.training.guard.finding import GuardFinding
from tests.waiting import until


class Faulty(nn.Linear):
    """A product in which one bit of one number is flipped, when told to."""

    wrong = False

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        product = super().forward(given)
        if not self.wrong:
            return product
        spoiled = product.detach().clone()
        flip(spoiled, 3, 27)
        return product + (spoiled - product.detach())


def flip(tensor: torch.Tensor, at: int, bit: int) -> None:
    """One bit of one FP32 number, in place."""
    with torch.no_grad():
        flat = tensor.view(-1)
        (word,) = struct.unpack("<i", struct.pack("<f", float(flat[at])))
        (value,) = struct.unpack("<f", struct.pack("<I", (word ^ (1 << bit)) & 0xFFFFFFFF))
        flat[at] = value


class Training:
    def __init__(self, **options: Any) -> None:
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        self.rank = dist.get_rank()
        torch.manual_seed(3)
        self.first = Faulty(32, 64)
        self.last = Faulty(64, 8)  # nothing behind it hides what it gets wrong
        network = nn.Sequential(self.first, nn.ReLU(), nn.Dropout(0.1), self.last)
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.guard = Guard(self.model, self.optimizer, **options)
        self.source = torch.Generator().manual_seed(self.rank)
        torch.manual_seed(self.rank)
        self.target = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))

    def batch(self) -> torch.Tensor:
        return torch.randn(16, 32, generator=self.source)

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(self.model(batch), (batch @ self.target).tanh())

    def alone(self, batch: torch.Tensor) -> torch.Tensor:
        """The same without the other ranks, for a replay."""
        with torch.no_grad():
            return nn.functional.mse_loss(self.model.module(batch), (batch @ self.target).tanh())

    def step(self, step: int) -> list[GuardFinding]:
        loss = self.loss(self.batch())
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1e9)
        self.optimizer.step()
        return self.guard.step(step, loss=loss, grad_norm=norm)

    def end(self, folder: str, expected: object) -> None:
        (Path(folder) / f"result.{self.rank}").write_text(json.dumps(expected))
        self.guard.close()
        dist.barrier()
        dist.destroy_process_group()


def with_faults(folder: str) -> None:
    """Rank 2's product is wrong at step 4, rank 1's parameters are from step 7 on."""
    os.environ["HOLDFAST_NODE"] = "node0"
    dist.init_process_group("gloo")
    checkpoint = Checkpoint(folder, replicas=1, storage_every=5)
    run = Training(vote_every=5, checksum_every=2, layers=["module.0"], checkpoint=checkpoint)
    checkpoint.load({"model": run.model})
    result = []
    for step in range(1, 11):
        run.first.wrong = run.rank == 2 and step == 4
        found = run.step(step)
        if run.rank == 1 and step == 7:
            flip(next(run.model.parameters()).detach(), 100, 0)
        result += [[one.kind, one.step, one.since, list(one.ranks), one.named] for one in found]
        assert checkpoint.save(step, {"model": run.model})
        if step == 5:
            until((rank_folder(Path(folder), step, run.rank) / INDEX).exists)
    dist.barrier()  # all have noted what the vote found
    before = len(noted(Path(folder)))
    dist.barrier()
    replayed = _replayed(run)
    dist.barrier()
    marked = [[one.since, one.until] for one in noted(Path(folder))[before:]]
    run.end(folder, {"found": result, "replayed": replayed, "marked": marked, "back": _back(checkpoint, run, folder)})


def _back(checkpoint: Checkpoint, run: Training, folder: str) -> list[object]:
    """Where a run that starts now begins, after all that was found."""
    checkpoint.close()
    again = Checkpoint(folder, replicas=1)
    found = [again.load({"model": run.model}), again.loaded_from]
    again.close()
    return found


def _replayed(run: Training) -> list[object]:
    """What a replay says of a device that lies, of one that lied once, and of three that do not."""
    with torch.no_grad():
        for parameter in run.model.parameters():
            dist.broadcast(parameter, 0)
    answers: list[object] = []
    for case in ("persistent", "transient", "data"):
        batch, before = run.batch(), Random().state_dict()
        run.last.wrong = run.rank == 1 and case != "data"
        observed = run.alone(batch)
        run.last.wrong = run.rank == 1 and case == "persistent"
        result = run.guard.replay(run.alone, batch, observed, before)
        answers.append([case, str(result.cause), list(result.ranks), result.since, result.advice()])
    return answers


def clean(folder: str, steps: int) -> None:
    run = Training()
    found = []
    for step in range(1, steps + 1):
        found += [one.sentence() for one in run.step(step)]
    run.end(folder, {"found": found, "good": run.guard.last_good, "unknown": run.guard.unknown})


def fully_sharded(folder: str) -> None:
    """FSDP2: each rank holds a part of everything. Kept, loaded again, and guarded as far as that goes."""
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    first, moments = _one_step(fully_shard, folder)
    again = _sharded(fully_shard, seed=rank + 50)
    checkpoint = Checkpoint(folder, replicas=1)
    step = checkpoint.load({"training": again})
    same = _bits_of(again) == first
    guard = Guard(again.model, again.optimizer, vote_every=1)
    found = guard.step(2)
    checkpoint.close()
    result = {
        "step": step,
        "same": same,
        "moments": moments,
        "found": len(found),
        "unknown": guard.unknown.get("vote", ""),
    }
    (Path(folder) / f"result.{rank}").write_text(json.dumps({**result, "world": world}))
    dist.barrier()
    dist.destroy_process_group()


class _Sharded(Parallel):
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        super().__init__(model, optimizer)
        self.model, self.optimizer = model, optimizer


def _sharded(fully_shard: Any, seed: int) -> _Sharded:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return _Sharded(model, torch.optim.AdamW(model.parameters()))


def _one_step(fully_shard: Any, folder: str) -> tuple[list[str], int]:
    run = _sharded(fully_shard, seed=3)
    run.model(torch.randn(4, 16)).sum().backward()
    run.optimizer.step()
    checkpoint = Checkpoint(folder, replicas=1)
    assert checkpoint.save(1, {"training": run})
    checkpoint.status()
    checkpoint.close()
    return _bits_of(run), len(run.optimizer.state)


def _bits_of(run: _Sharded) -> list[str]:
    """Parameters and moments of this rank's part."""
    moments = [value for state in run.optimizer.state.values() for _, value in sorted(state.items())]
    parts = [part.to_local() if isinstance(part, DTensor) else part for part in [*run.model.parameters(), *moments]]
    return [part.detach().numpy().tobytes().hex() for part in parts]
