"""A training job of a few processes over gloo that goes wrong on request; run by torchrun in test_made_failures."""

import datetime
import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist


def main(fault: str, folder: str) -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    model = torch.nn.Linear(16, 16)
    for step in range(1, 21):
        began = time.perf_counter()
        loss = (model(torch.randn(4, 16)) ** 2).mean()
        if fault == "nan" and step >= 12:
            loss = loss * float("nan")
        loss.backward()
        go_wrong(fault, rank, step)
        for parameter in model.parameters():
            if not (fault == "skip" and rank == 1 and step == 10) and parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world
        if rank == 0:
            took = (time.perf_counter() - began) * 1000
            print(f"step {step} loss {loss.item():.4f} time {took:.2f}ms", flush=True)
            if step % 10 == 0:
                save(model, "/dev/full" if fault == "disk" else f"{folder}/step{step}.pt", step)
    dist.destroy_process_group()


def go_wrong(fault: str, rank: int, step: int) -> None:
    if step != 10:
        return
    if fault == "kill" and rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "sleep" and rank == 3:
        time.sleep(60)
    if fault == "lock" and rank == 3:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()  # taken already, by this very thread
    if fault == "shape" and rank == 1:
        dist.all_reduce(torch.ones(7))
    if fault == "bug" and rank == 1:
        torch.randn(3, 4) @ torch.randn(3, 4)


def save(model: torch.nn.Module, path: str, step: int) -> None:
    print(f"saving checkpoint at step {step} to {path}", flush=True)
    torch.save({"model": model.state_dict(), "more": torch.zeros(500_000)}, path)
    print(f"saved checkpoint at step {step} to {path}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
