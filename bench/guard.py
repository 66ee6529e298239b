"""What the Guard costs at its defaults, as a part of a step of 200 ms, and its vote beside one read of the memory.

    python bench/guard.py [--steps 100] [--width 1024]
    python bench/guard.py --clean-steps 100000      # false alarms of the checksum instead, per precision

CPU time of the training's own thread inside `Guard.step` and inside the hooks, on one rank of a model that trains; the
vote's exchange of 8 bytes per shard is not in it. The read is torch's sum of the same tensors as the numbers they are,
which goes as fast as the memory does; vote and read take turns, and who goes first changes at every round.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from holdfast.training import Guard
from holdfast.training.guard.checksum import error
from holdfast.training.guard.hash import digests, held

RESULT = Path(__file__).parent / "results" / "guard.json"
STEP_SECONDS = 0.2
VOTE_WIDTH = 6144  # 1.8 GB with the optimizer's memory: far more than a cache holds


class Clock:
    """CPU seconds of this thread inside the calls it is put around."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.thread_time() - begun

        return timed


def model_of(width: int) -> nn.Sequential:
    return nn.Sequential(*(part for _ in range(4) for part in (nn.Linear(width, width), nn.ReLU())))


def hooks(steps: int, width: int) -> tuple[float, int]:
    """CPU seconds of a step inside our code, and the bytes that the vote reads."""
    model = model_of(width)
    optimizer = torch.optim.AdamW(model.parameters())
    clock = Clock()
    guard = Guard(model, optimizer)
    for layer in model:
        for key, hook in list(layer._forward_hooks.items()):
            layer._forward_hooks[key] = clock.around(hook)
    step_of = clock.around(guard.step)
    batch = torch.randn(64, width)
    for step in range(1, steps + 1):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step_of(step, loss=loss, grad_norm=loss)
    return clock.seconds / steps, sum(tensor.nbytes for _, tensor in held(model, optimizer))


def vote_to_read(width: int, rounds: int = 24) -> dict[str, object]:
    """Seconds of the digests and of a plain read, and their ratio round by round: its middle and its quarters."""
    model = model_of(width)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, width)).sum().backward()
    optimizer.step()
    tensors = [tensor.detach() for _, tensor in held(model, optimizer)]
    calls: list[tuple[list[float], Callable[[], object]]] = [
        ([], lambda: digests(held(model, optimizer))),
        ([], lambda: [float(tensor.sum()) for tensor in tensors]),
    ]
    for number in range(rounds):
        for seconds, call in calls if number % 2 else reversed(calls):
            seconds.append(_seconds(call))
    (votes, _), (reads, _) = calls
    low, middle, high = statistics.quantiles([vote / read for vote, read in zip(votes, reads, strict=True)], n=4)
    size = sum(tensor.nbytes for tensor in tensors)
    return {
        "vote_cpu_seconds": round(min(votes), 5),
        "read_cpu_seconds": round(min(reads), 5),
        "vote_bytes_per_second": round(size / min(votes)),
        "vote_to_read": round(middle, 3),
        "vote_to_read_quarters": [round(low, 3), round(high, 3)],
    }


class Fp8Linear(nn.Linear):
    """As FP8 training computes: factors scaled and rounded to e4m3, the result in BF16."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(_rounded(input), _rounded(self.weight), self.bias)


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    scale = tensor.abs().max().clamp(min=1e-12) / torch.finfo(torch.float8_e4m3fn).max
    return (tensor / scale).to(torch.float8_e4m3fn).to(tensor.dtype) * scale


SHAPES = ((8, 32, 32), (4, 16, 128), (2, 128, 16), (1, 64, 64), (32, 8, 8))  # rows, inputs, outputs
PRECISIONS: dict[str, tuple[type[nn.Linear], torch.dtype]] = {
    "float32": (nn.Linear, torch.float32),
    "bfloat16": (nn.Linear, torch.bfloat16),
    "float16": (nn.Linear, torch.float16),
    "fp8 simulated": (Fp8Linear, torch.bfloat16),
}


def false_alarms(steps: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Clean products of each precision, in turn over the shapes, with numbers of different sizes and outliers."""
    found = {}
    for name, (kind, dtype) in PRECISIONS.items():
        torch.manual_seed(seed)
        layers = [kind(inputs, outputs).to(dtype) for _, inputs, outputs in SHAPES]
        layers[3].weight.data.abs_()  # of one sign: roundings of an input add up
        alarms, worst = 0, 0.0
        with torch.no_grad():
            for step in range(steps):
                at = step % len(SHAPES)
                given = torch.randn(SHAPES[at][0], SHAPES[at][1]) * 10.0 ** (step % 5 - 2)
                given[0, step % SHAPES[at][1]] *= 1.0 + 50.0 * (step % 7 == 0)
                given = given.to(dtype)
                part = float(error(layers[at], given, layers[at](given)))
                alarms, worst = alarms + (part > 1.0), max(worst, part)
        found[name] = {"steps": steps, "false_alarms": alarms, "largest_part_of_limit": round(worst, 3)}
        print(name, json.dumps(found[name]), flush=True)
    return found


def _seconds(call: Callable[[], object]) -> float:
    begun = time.thread_time()
    call()
    return time.thread_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--clean-steps", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.clean_steps:
        alarms = false_alarms(options.clean_steps)
        RESULT.write_text(json.dumps({**json.loads(RESULT.read_text()), "clean": alarms}, indent=1) + "\n")
        return
    inside, size = hooks(options.steps, options.width)
    figures = {
        "steps": options.steps,
        "bytes_guarded": size,
        "cpu_seconds_per_step": round(inside, 6),
        "part_of_a_200_ms_step": round(inside / STEP_SECONDS, 5),
        **vote_to_read(VOTE_WIDTH),
    }
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
