"""The example training with one thing wrong: `faulty_train.py FAULT RANK STEP [--always] -- TRAINING OPTIONS`.

Faults strike in the first attempt alone, unless --always.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_gloo.py"


def main() -> None:
    divide = sys.argv.index("--")
    fault, rank, step, *rest = sys.argv[1:divide]
    sys.argv = [str(EXAMPLE), *sys.argv[divide + 1 :]]
    spec = importlib.util.spec_from_file_location("train_gloo", EXAMPLE)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    if "--always" in rest or os.environ.get("HOLDFAST_ATTEMPT", "1") == "1":
        spoil(example, fault, int(rank), int(step))
    example.main()


def spoil(example: Any, fault: str, rank: int, step: int) -> None:
    train_step, at = example.train_step, {"sleep": sleep, "skip": skip, "shape": shape, "nan": nan, "eat": eat}[fault]

    def spoiled(model: torch.nn.Module, now: int, seconds: float) -> None:
        if now == step and dist.get_rank() == rank:
            at(example, model)
        train_step(model, now, seconds)

    example.train_step = spoiled


def sleep(*_: object) -> None:
    time.sleep(3600)


def skip(*_: object) -> None:
    """The next collective is not joined."""
    real: Callable[..., Any] = dist.all_reduce

    def once(*_: object, **__: object) -> None:
        dist.all_reduce = real

    dist.all_reduce = once


def shape(_: Any, model: torch.nn.Module) -> None:
    model(torch.zeros(2, 7))


def nan(_: Any, model: torch.nn.Module) -> None:
    for parameter in model.parameters():
        parameter.data.fill_(float("nan"))


def eat(*_: object) -> None:
    """More memory than the limit of the group it runs in."""
    eaten = []
    while True:
        eaten.append(bytearray(os.urandom(1 << 20) * 16))


if __name__ == "__main__":
    main()
