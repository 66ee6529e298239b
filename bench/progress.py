"""What Progress costs a training: CPU time of its hooks and its thread, as a share of a 200 ms step.

Three loops in one run: steps of 200 ms that do nothing, with Progress and without (whole process, its thread included);
steps back to back, against an empty context manager as the floor; backward passes under DDP, watched and not.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from holdfast.training import Progress

RESULT = Path(__file__).parent / "results" / "progress.json"
STEP_SECONDS = 0.2
SLOW_STEPS, QUICK_STEPS, BACKWARDS = 60, 20_000, 300


@contextmanager
def nothing() -> Iterator[None]:
    yield


def cpu_of(work: Callable[[], None], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def made(job: str) -> Progress:
    return Progress(job, rank=0, world=1)


def slow_steps() -> tuple[float, float]:
    loss = torch.ones(())

    def bare() -> None:
        time.sleep(STEP_SECONDS)

    with made("slow") as progress:

        def reported() -> None:
            with progress.step(tokens=4096):
                time.sleep(STEP_SECONDS)
                progress.note(loss=loss, gradient_norm=1.0)
            progress.saved(progress.made)

        return cpu_of(reported, SLOW_STEPS), cpu_of(bare, SLOW_STEPS)


def quick_steps() -> tuple[float, float]:
    def floor() -> None:
        with nothing():
            pass

    with made("quick") as progress:

        def reported() -> None:
            with progress.step(tokens=4096):
                pass

        return cpu_of(reported, QUICK_STEPS), cpu_of(floor, QUICK_STEPS)


def backwards(rendezvous: str) -> tuple[float, float]:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=0, world_size=1)
    took = []
    for watched in (False, True):
        model = DistributedDataParallel(nn.Linear(64, 64))
        with made("watched") as progress:
            if watched:
                progress.watch(model)

            def one(model: nn.Module = model) -> None:
                model(torch.ones(8, 64)).sum().backward()

            cpu_of(one, BACKWARDS)
            took.append(min(cpu_of(one, BACKWARDS) for _ in range(3)))
    dist.destroy_process_group()
    return took[1], took[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOLDFAST_PROGRESS_DIR"] = folder
        os.environ["HOLDFAST_AGENT_SOCKET"] = f"{folder}/none.sock"
        reported, bare = slow_steps()
        quick, floor = quick_steps()
        watched, unwatched = backwards(f"{folder}/rendezvous")
    hooks = max(0.0, reported - bare) + max(0.0, watched - unwatched)
    figures = {
        "step_seconds": STEP_SECONDS,
        "cpu_us_a_step": round(1e6 * (reported - bare), 1),
        "cpu_us_a_step_back_to_back": round(1e6 * quick, 2),
        "to_an_empty_context_manager": round(quick / floor, 1),
        "cpu_us_a_watched_backward": round(1e6 * (watched - unwatched), 1),
        "share_of_a_step": round(hooks / STEP_SECONDS, 6),
        "target_share": 0.005,
    }
    RESULT.write_text(json.dumps(figures) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
