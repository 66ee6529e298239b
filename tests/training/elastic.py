"""A training whose number of ranks changes: FSDP2, HSDP where it fits, DDP and a plain value. Each call is one rank."""

import os
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from holdfast.training import Checkpoint, Parallel, Position, Random
from tests.waiting import until

SAMPLES, BATCH = 40, 2


def model_of(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 7), nn.ReLU(), nn.Linear(7, 3))


def state_of(world: int, seed: int, hybrid: bool) -> tuple[dict[str, Any], nn.Module, list[torch.optim.Optimizer]]:
    sharded, copied = model_of(seed), DistributedDataParallel(model_of(seed + 1))
    shape = (2, world // 2) if hybrid and world % 2 == 0 else (world,)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("copies", "shards")[2 - len(shape) :])
    fully_shard(sharded, mesh=mesh)
    first, second = torch.optim.Adam(sharded.parameters()), torch.optim.Adam(copied.parameters())
    state = {
        "sharded": Parallel(sharded, first),
        "copied": copied,
        "copied optimizer": second,
        "random": Random(),
        "position": Position(),
        "note": seed,
    }
    return state, sharded, [first, second]


def whole(value: Any) -> Any:
    if isinstance(value, DTensor):
        return value.full_tensor()
    if isinstance(value, dict):
        return {key: whole(part) for key, part in value.items()}
    return [whole(part) for part in value] if isinstance(value, list) else value


def contents(state: dict[str, Any]) -> Any:
    parts = {name: part.state_dict() for name, part in state.items() if hasattr(part, "state_dict")}
    del parts["random"], parts["position"]
    return whole(parts)


def loader_of(rank: int, world: int) -> DataLoader[Any]:
    data = TensorDataset(torch.arange(SAMPLES))
    return DataLoader(data, BATCH, sampler=DistributedSampler(data, world, rank))


def run(folder: str, hybrid: bool, one_node: bool, stored: bool, finish: bool) -> None:
    """Load what is there and compare it with what the last run noted; train three steps, or to the end of the epoch."""
    if one_node:
        os.environ["HOLDFAST_NODE"] = "node0"
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    notes = Path(folder).parent
    state, _, optimizers = state_of(world, 100 * world, hybrid)
    checkpoint = Checkpoint(folder, replicas=1 if one_node else 2, storage_every=int(stored))
    step = checkpoint.load(state) or 0
    if step:
        expected = torch.load(notes / "expected.pt", weights_only=False)
        assert_same(contents(state), expected)
        assert not state["position"].problem and "saved by" in checkpoint.loaded_from
    position = state["position"]
    seen = []
    for (batch,) in position.over(loader_of(rank, world)):
        seen += batch.tolist()
        for name, optimizer in zip(("sharded", "copied"), optimizers, strict=True):
            model = state[name].model if name == "sharded" else state[name]
            optimizer.zero_grad()
            model(torch.ones(2, 3) * batch.float().mean()).pow(2).sum().backward()
            optimizer.step()
        step += 1
        assert checkpoint.save(step, state), checkpoint.troubles
        if not finish and step % 3 == 0:
            break
    with open(notes / f"seen.{os.getpid()}", "w") as file:
        file.write(" ".join(map(str, seen)))
    if not finish:
        full = contents(state)
        if rank == 0:
            torch.save(full, notes / "expected.pt")
        until(lambda: checkpoint.status()["committed"] == step, "all copies are at their partners", 120.0)
        dist.barrier()
        if stored:
            assert checkpoint.flush() == [step], checkpoint.status()["troubles"]
    dist.barrier()
    checkpoint.close()
    dist.destroy_process_group()


def assert_same(got: Any, expected: Any, path: str = "") -> None:
    if isinstance(expected, torch.Tensor):
        assert torch.equal(got, expected), path
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys(), path
        for key, part in expected.items():
            assert_same(got[key], part, f"{path}/{key}")
    elif isinstance(expected, list):
        for at, (one, other) in enumerate(zip(got, expected, strict=True)):
            assert_same(one, other, f"{path}/{at}")
    else:
        assert got == expected, path
