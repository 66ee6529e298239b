"""What a sweep costs beside a bare torch loop of the same collective, size by size, interleaved in one run.

Two figures a size: how long the sweep says one all-reduce takes, and how long it needs for one with all that it does
around it (a barrier before each, numbers checked, agreement on the repeats); both over the bare loop's time for one.
"""

import argparse
import multiprocessing
import os
import random
import socket
import time
from multiprocessing.queues import SimpleQueue
from statistics import median
from typing import Any

from measure import cpu_times, publish, steal_ratio, quantile

SIZES = (8, 65536, 1 << 20, 4 << 20)
BUDGET_SECONDS = 0.05  # of the sweep, per size and turn
DRAWS = 2000
Transaction = dict[str, float]


def rank(number: int, world: int, port: int, turns: int, answers: "SimpleQueue[Any]") -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=number, world_size=world)
    found: dict[int, list[Transaction]] = {size: [] for size in SIZES}
    for turn in range(turns + 1):  # the first one warms up
        for size in SIZES:
            one = both(size, swept_first=turn % 2 == 0)
            if turn:
                found[size].append(one)
    dist.destroy_process_group()
    if number == 0:
        answers.put(found)


def both(size: int, swept_first: bool) -> Transaction:
    """One turn of each, the order changing from turn to turn."""
    if swept_first:
        reported, whole, repeats = swept(size)
        return {"reported": reported, "whole": whole, "bare": bare(size, repeats)}
    repeats = 20
    alone = bare(size, repeats)
    reported, whole, _ = swept(size)
    return {"reported": reported, "whole": whole, "bare": alone}


def swept(size: int) -> tuple[float, float, int]:
    from holdfast.node.probes.sweep import collective

    began = time.perf_counter()
    timing = collective.measure("all_reduce", size, BUDGET_SECONDS, "cpu", collective.spoil_nothing)
    repeats = len(timing.seconds)
    return median(timing.seconds), (time.perf_counter() - began) / (repeats + 1), repeats


def bare(size: int, repeats: int) -> float:
    import torch
    import torch.distributed as dist

    numbers = torch.ones(max(1, size // 4))
    dist.all_reduce(numbers)
    dist.barrier()
    began = time.perf_counter()
    for _ in range(repeats):
        dist.all_reduce(numbers)
    return (time.perf_counter() - began) / repeats


def ratio(turns: list[Transaction], name: str, chance: random.Random) -> dict[str, float]:
    """Of medians, with the middle 95 % of what the same turns give when drawn again."""

    def of(some: list[Transaction]) -> float:
        return median(turn[name] for turn in some) / median(turn["bare"] for turn in some)

    drawn = [of(chance.choices(turns, k=len(turns))) for _ in range(DRAWS)]
    return {"ratio": of(turns), "low": quantile(drawn, 0.025), "high": quantile(drawn, 0.975)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    context = multiprocessing.get_context("spawn")
    answers: SimpleQueue[Any] = context.SimpleQueue()
    before = cpu_times()
    ranks = [
        context.Process(target=rank, args=(number, options.ranks, port, options.turns, answers))
        for number in range(options.ranks)
    ]
    for process in ranks:
        process.start()
    found = answers.get()
    for process in ranks:
        process.join()
    chance = random.Random(1)
    rows = [
        {
            "bytes": size,
            "bare_seconds": median(turn["bare"] for turn in turns),
            "reported_over_bare": ratio(turns, "reported", chance),
            "whole_over_bare": ratio(turns, "whole", chance),
        }
        for size, turns in found.items()
    ]
    figures = {"ranks": options.ranks, "turns": options.turns, "steal_ratio": steal_ratio(before, cpu_times())}
    publish("sweep_overhead", {**figures, "load_average": os.getloadavg()[0], "rows": rows})


if __name__ == "__main__":
    main()
