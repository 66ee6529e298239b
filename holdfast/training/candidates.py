"""Which steps could be loaded, newest first, from what the ranks found. Pure: every rank comes to the same list."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.training.client import Held


@dataclass(frozen=True, slots=True)
class Found:
    """What one rank sees: its keeper's copies, and (rank 0 looks for all) the whole steps in storage."""

    node: str
    address: str  # of its keeper; "" where there is none
    held: tuple[Held, ...]
    stored: tuple[tuple[int, str, int], ...] = ()  # step, attempt, world


@dataclass(frozen=True, slots=True)
class Candidate:
    step: int
    attempt: str
    world: int
    in_memory: bool  # every rank's shard is in some keeper
    in_storage: bool


def candidates(found: Sequence[Found]) -> list[Candidate]:
    """Steps of which every rank's shard exists somewhere. Shards of two runs never make one step."""
    holders: dict[tuple[int, str, int], set[int]] = {}
    for one in found:
        for copy in one.held:
            holders.setdefault((copy.step, copy.attempt, copy.world), set()).add(copy.rank)
    in_memory = {key for key, ranks in holders.items() if len(ranks) == key[2]}
    in_storage = set(found[0].stored)
    rows = [Candidate(*key, key in in_memory, key in in_storage) for key in in_memory | in_storage]
    return sorted(rows, key=lambda row: (row.step, row.in_memory, row.attempt), reverse=True)


def sources(found: Sequence[Found], rank: int, candidate: Candidate) -> list[str]:
    """Addresses to fetch this rank's copy from, "" for its own keeper; different ranks ask different ones first."""
    if not candidate.in_memory:
        return []
    own = found[rank].node
    wanted = (rank, candidate.step, candidate.attempt)
    places: dict[str, str] = {}
    for one in found:
        if any((copy.rank, copy.step, copy.attempt) == wanted for copy in one.held):
            places[one.node] = "" if one.node == own else one.address
    others = [address for node, address in sorted(places.items()) if node != own]
    turn = rank % len(others) if others else 0
    return ([""] if own in places else []) + others[turn:] + others[:turn]
