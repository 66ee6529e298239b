"""One rank of a real training over gloo, until it is told to stop. A slow one gives way to all on its processor."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.training import Progress


def main(job: str, stop: Path, slow: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if dist.get_rank() == slow:
        os.nice(19)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    model = DistributedDataParallel(nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    going_on = torch.ones(1)
    with Progress(job) as progress:
        progress.watch(model)
        while going_on.item():
            with progress.step(tokens=256):
                loss = model(torch.randn(256, 512)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                progress.note(loss=loss)
            if progress.made % 10 == 0:
                progress.saved(progress.made)
            going_on.fill_(not stop.exists())
            with progress.waiting():
                dist.broadcast(going_on, 0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
