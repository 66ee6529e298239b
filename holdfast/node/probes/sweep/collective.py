"""One rank of a sweep: a collective at growing sizes, timed, and checked with numbers that floats hold exactly."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from holdfast.node.probes.sweep.run_delay import RunDelay

PERIOD = 97  # period of the pattern; a small prime, so that shifted and swapped pieces are detected
MOST_REPEATS = 200
LEAST_REPEATS = 5
LATENCY_REPEATS, LATENCY_BATCH = 200, 20
LATENCY_SECONDS = 2.0
COPIES = 4  # buffers of the payload's size that a rank holds at once

Spoil = Callable[[int, int, torch.Tensor], None]  # changes numbers in a drill: (rank, bytes, data to send)


@dataclass(frozen=True, slots=True)
class CollectiveOperation:
    """One collective: the input of a rank, the expected output, and how it runs."""

    fill: Callable[[int, int, int], torch.Tensor]  # rank, world, elements
    expect: Callable[[int, int, int], torch.Tensor]
    run: Callable[[torch.Tensor, torch.Tensor], None]


def pattern(rank: int, elements: int) -> torch.Tensor:
    base = torch.arange(PERIOD, dtype=torch.float32) + float(rank)
    return base.repeat(-(-elements // PERIOD))[:elements]


def _sum_of_all(rank: int, world: int, elements: int) -> torch.Tensor:
    return (pattern(0, elements) * world).add_(world * (world - 1) / 2)


def _gathered(rank: int, world: int, elements: int) -> torch.Tensor:
    return torch.cat([pattern(other, elements // world) for other in range(world)])


def _own_piece(rank: int, world: int, elements: int) -> torch.Tensor:
    piece = elements // world
    return _sum_of_all(rank, world, elements)[rank * piece : (rank + 1) * piece]


def _pieces_for_me(rank: int, world: int, elements: int) -> torch.Tensor:
    piece = elements // world
    return torch.cat([pattern(other, elements)[rank * piece : (rank + 1) * piece] for other in range(world)])


def _all_reduce(sent: torch.Tensor, got: torch.Tensor) -> None:
    got.copy_(sent)
    dist.all_reduce(got)


def _all_gather(sent: torch.Tensor, got: torch.Tensor) -> None:
    dist.all_gather(list(got.chunk(dist.get_world_size())), sent)


def _reduce_scatter(sent: torch.Tensor, got: torch.Tensor) -> None:
    dist.reduce_scatter(got, list(sent.chunk(dist.get_world_size())))


def _all_to_all(sent: torch.Tensor, got: torch.Tensor) -> None:
    dist.all_to_all_single(got, sent)


def _ring(sent: torch.Tensor, got: torch.Tensor) -> None:
    """Every rank sends to the next and receives from the previous one."""
    rank, world = dist.get_rank(), dist.get_world_size()
    work = [dist.irecv(got, (rank - 1) % world), dist.isend(sent, (rank + 1) % world)]
    for one in work:
        if one is not None:
            one.wait()


def _one_way(sent: torch.Tensor, got: torch.Tensor) -> None:
    """Measures one direction, from the first to the second rank; the sender has its own numbers already."""
    if dist.get_rank() == 0:
        dist.send(sent, 1)
        got.copy_(sent)
    else:
        dist.recv(got, 0)


EXCHANGES = {
    "all_reduce": CollectiveOperation(lambda r, w, n: pattern(r, n), _sum_of_all, _all_reduce),
    "all_gather": CollectiveOperation(lambda r, w, n: pattern(r, n // w), _gathered, _all_gather),
    "reduce_scatter": CollectiveOperation(lambda r, w, n: pattern(r, n), _own_piece, _reduce_scatter),
    "all_to_all": CollectiveOperation(lambda r, w, n: pattern(r, n), _pieces_for_me, _all_to_all),
    "one_way": CollectiveOperation(lambda r, w, n: pattern(r, n), lambda r, w, n: pattern(0, n), _one_way),
    "send_recv": CollectiveOperation(lambda r, w, n: pattern(r, n), lambda r, w, n: pattern((r - 1) % w, n), _ring),
}


@dataclass(frozen=True, slots=True)
class Timing:
    seconds: list[float]
    slowest: float  # over all ranks and the first try, because all ranks must take the same decision
    wrong: bool


def measure(operation: str, size: int, budget_seconds: float, device: str, spoil: Spoil) -> Timing:
    """Measures. All ranks repeat equally often: as often as the slowest can within the budget."""
    rank, world = dist.get_rank(), dist.get_world_size()
    exchange = EXCHANGES[operation]
    elements = max(world, size // 4 // world * world) if operation != "all_reduce" else max(1, size // 4)
    sent = exchange.fill(rank, world, elements).to(device)
    spoil(rank, size, sent)
    expected = exchange.expect(rank, world, elements).to(device)
    got = torch.empty_like(expected)
    first = _timed(exchange, sent, got, device)
    wrong = not torch.equal(got, expected)
    slowest = _greatest(first, device)
    repeats = max(LEAST_REPEATS, min(MOST_REPEATS, int(budget_seconds / max(slowest, 1e-6))))
    seconds = [_timed(exchange, sent, got, device) for _ in range(1 if slowest > budget_seconds else repeats)]
    wrong = wrong or not torch.equal(got, expected)
    return Timing(seconds, slowest, bool(_greatest(float(wrong), device)))


def latencies(operation: str, size: int, device: str) -> list[tuple[float, float]]:
    """Many small exchanges in a row without a barrier, so that one lost packet makes one of them long.

    Returns for each its duration and for how long this process had no CPU: a busy host is not a slow fabric. All ranks
    agree after each batch whether there is time for another.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    exchange = EXCHANGES[operation]
    elements = max(world, size // 4 // world * world)
    sent = exchange.fill(rank, world, elements).to(device)
    got = torch.empty_like(exchange.expect(rank, world, elements).to(device))
    found: list[tuple[float, float]] = []
    start, delay = time.perf_counter(), RunDelay()
    dist.barrier()
    while len(found) < LATENCY_REPEATS and _greatest(time.perf_counter() - start, device) < LATENCY_SECONDS:
        for _ in range(LATENCY_BATCH):
            waited, before = delay.seconds(), time.perf_counter()
            exchange.run(sent, got)
            if device != "cpu":
                torch.cuda.synchronize()
            seconds = time.perf_counter() - before
            found.append((seconds, delay.seconds() - waited))
    delay.close()
    return found


def _timed(exchange: CollectiveOperation, sent: torch.Tensor, got: torch.Tensor, device: str) -> float:
    dist.barrier()
    start = time.perf_counter()
    exchange.run(sent, got)
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _greatest(value: float, device: str) -> float:
    everywhere = torch.tensor([value], dtype=torch.float64, device=device)
    dist.all_reduce(everywhere, op=dist.ReduceOp.MAX)
    return float(everywhere.item())


def wrong_ranks(size: int, device: str, spoil: Spoil) -> list[int]:
    """Finds ranks that contribute wrong numbers: each rank in turn sends its pattern while the others send zeros."""
    rank, world, elements = dist.get_rank(), dist.get_world_size(), max(1, size // 4)
    found = []
    for suspect in range(world):
        part = pattern(rank, elements).to(device) if rank == suspect else torch.zeros(elements, device=device)
        if rank == suspect:
            spoil(rank, size, part)
        dist.all_reduce(part)
        bad = not torch.equal(part, pattern(suspect, elements).to(device))
        if _greatest(float(bad), device):
            found.append(suspect)
    return found


def spoil_nothing(rank: int, size: int, sent: Any) -> None:
    """A healthy rank."""


def spoil_one(rank: int, size: int) -> Spoil:
    """One wrong element in one rank's contribution, at one payload size."""

    def spoil(where: int, bytes_sent: int, sent: torch.Tensor) -> None:
        if where == rank and bytes_sent == size and sent.numel():
            sent[sent.numel() // 2] += 1.0

    return spoil
