"""A loop in the style of Megatron-LM: tensor and data parallel ranks, micro-batches, a position counted in samples.

    python examples/megatron_loop.py --dir /tmp/megatron --steps 40
    holdfast run -- torchrun --nproc-per-node=4 examples/megatron_loop.py --dir /tmp/megatron --tensor-parallel 2

The order of the data depends only on the seed and the number of consumed samples, so this number is the whole position.
"""

import os

import torch
import torch.distributed as dist
from outcome import finish, maybe_die, parser
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from holdfast.training import Checkpoint, Parallel, Random

MICRO_BATCH, MICRO_BATCHES, WIDTH, SAMPLES = 2, 2, 16, 1024
DATA = torch.randn(SAMPLES, WIDTH, generator=torch.Generator().manual_seed(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + self.down(nn.functional.gelu(self.up(hidden)))


def samples(first: int, count: int) -> torch.Tensor:
    epoch, start = divmod(first, SAMPLES)
    order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))
    return DATA[order[start : start + count]]


def main() -> None:
    words = parser(__doc__)
    words.add_argument("--tensor-parallel", type=int, default=1)
    options = words.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        os.environ.setdefault(name, value)
    dist.init_process_group("gloo")
    tensor_parallel = options.tensor_parallel
    shape = (dist.get_world_size() // tensor_parallel, tensor_parallel)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("data", "tensor"))
    data = mesh["data"]
    torch.manual_seed(1)
    model = nn.Sequential(Block(), Block())
    for block in model:
        parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ckpt = Checkpoint(options.dir, replicas=options.replicas)
    state = {"both": Parallel(model, optimizer), "random": Random(), "consumed_samples": 0}
    step = ckpt.load(state) or 0
    while step < options.steps:
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 / (1 + state["consumed_samples"] / SAMPLES)  # a schedule in samples
        optimizer.zero_grad()
        for _ in range(MICRO_BATCHES):
            whole = MICRO_BATCH * data.size()
            batch = samples(state["consumed_samples"], whole)[data.get_local_rank() :: data.size()]
            (model(batch) - batch.roll(1, 1)).pow(2).mean().div(MICRO_BATCHES).backward()
            state["consumed_samples"] += whole
        for parameter in model.parameters():
            gradient = parameter.grad.to_local() if isinstance(parameter.grad, DTensor) else parameter.grad
            dist.all_reduce(gradient, group=data.get_group())
            gradient.div_(data.size())
        optimizer.step()
        step += 1
        ckpt.save(step, state)
        if dist.get_rank() == 0:
            print(f"step {step}", flush=True)  # `holdfast run` reads progress from such lines
        maybe_die(options, step)
    ckpt.close()
    finish(options, model, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
