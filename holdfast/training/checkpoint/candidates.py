"""Steps that can be loaded, newest first, from the reports of all ranks. Pure; equal on every rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.training.checkpoint.keeper_client import Held


@dataclass(frozen=True, slots=True)
class Found:
    """Report of one rank: its keeper's copies and, from rank 0, the shards in storage."""

    node: str
    address: str  # address of its keeper; "" without one
    held: tuple[Held, ...]
    stored: tuple[tuple[Any, ...], ...] = ()  # step, attempt, world, ranks


@dataclass(frozen=True, slots=True)
class StepCandidate:
    step: int
    attempt: str
    world: int
    in_memory: frozenset[int]  # ranks with a shard in some keeper
    in_storage: frozenset[int]

    @property
    def whole(self) -> bool:
        return self.in_memory | self.in_storage == set(range(self.world))


def candidates(found: Sequence[Found]) -> list[StepCandidate]:
    """Steps for which the shard of every rank exists somewhere. Shards of two runs are never combined into one step."""
    memory: dict[tuple[int, str, int], set[int]] = {}
    for one in found:
        for copy in one.held:
            memory.setdefault((copy.step, copy.attempt, copy.world), set()).add(copy.rank)
    storage = {(step, attempt, world): ranks for step, attempt, world, ranks in found[0].stored}
    rows = [
        StepCandidate(key[0], key[1], key[2], frozenset(memory.get(key, ())), frozenset(storage.get(key, ())))
        for key in memory.keys() | storage.keys()
    ]
    whole = [row for row in rows if row.whole]
    return sorted(whole, key=lambda row: (row.step, len(row.in_memory), row.attempt), reverse=True)


def sources(found: Sequence[Found], rank: int, candidate: StepCandidate, reader: int | None = None) -> list[str]:
    """Addresses to fetch a rank's copy from, "" for the reader's own keeper. Ranks ask the others in different order.

    The reader may be another rank, if the number of ranks changed.
    """
    if rank not in candidate.in_memory:
        return []
    own = found[rank if reader is None else reader].node
    wanted = (rank, candidate.step, candidate.attempt)
    places: dict[str, str] = {}
    for one in found:
        if any((copy.rank, copy.step, copy.attempt) == wanted for copy in one.held):
            places[one.node] = "" if one.node == own else one.address
    others = [address for node, address in sorted(places.items()) if node != own]
    offset = rank % len(others) if others else 0
    return ([""] if own in places else []) + others[offset:] + others[:offset]
