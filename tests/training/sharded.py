"""A small training under FSDP2 whose ranks tell their progress; one of them computes longer. Each call is one rank."""

import time
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from holdfast.training import Progress

STEPS = 4
DELAY_SECONDS = 0.2


class Late(nn.Linear):
    """Takes its time in forward: work of this rank, for which the others wait in the next collective."""

    seconds = 0.0

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        time.sleep(self.seconds)
        return super().forward(given)


def model_of(width: int = 8) -> tuple[nn.Sequential, Late]:
    late = Late(width, width)
    return nn.Sequential(nn.Linear(width, width), late, nn.Linear(width, width)), late


def train(slow: int, ahead: bool) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    network, late = model_of()
    late.seconds = DELAY_SECONDS if rank == slow else 0.0
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for part in (*network, network):
        fully_shard(part, mesh=mesh)
    model: Any = network
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Progress("sharded") as progress:
        assert progress.watch(model)
        for _ in range(STEPS):
            with progress.step():
                if ahead:
                    model[0].unshard(async_op=True)
                loss = model(torch.ones(2, 8)).sum()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    dist.destroy_process_group()


def several_dimensions() -> None:
    """Copies of shards: their sums go by another way, and nobody claims to know the waiting."""
    dist.init_process_group("gloo")
    network, _ = model_of()
    fully_shard(network, mesh=init_device_mesh("cpu", (dist.get_world_size(), 1), mesh_dim_names=("copies", "shards")))
    with Progress("copies") as progress:
        assert not progress.watch(network)
        with progress.step():
            network(torch.ones(2, 8)).sum().backward()
    dist.destroy_process_group()
