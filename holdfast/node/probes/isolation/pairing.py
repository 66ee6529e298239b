"""Pairs of the next round: every node once, suspects with known-good partners. Pure.

The pairs of a round run at the same time, so a node is in one pair at most.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from zlib import crc32

Pair = tuple[str, str]


def pair(one: str, other: str) -> Pair:
    """The pair, independent of the order of its ends."""
    return (one, other) if one < other else (other, one)


def next_round(
    nodes: Sequence[str],
    number: int,
    *,
    leaves: Mapping[str, str] | None = None,
    suspects: Collection[str] = (),
    trusted: Sequence[str] = (),
    met: Collection[Pair] = frozenset(),
    suspect_pairs: Sequence[Pair] = (),
) -> list[Pair]:
    """Round `number` (from 0).

    A suspected pair meets again; a suspected node meets a trusted one. The rest follow a round robin: in as many rounds
    as there are nodes, all pairs meet. Nodes of different leaves alternate, so that even the first rounds cross between
    leaves.
    """
    where = leaves or {}
    free = dict.fromkeys(_interleaved(tuple((node, where.get(node, "")) for node in nodes)))
    chosen: list[Pair] = []

    def take(one: str, other: str) -> None:
        chosen.append(pair(one, other))
        del free[one], free[other]

    for one, other in suspect_pairs:
        if one in free and other in free:
            take(one, other)
    doubtful = set(suspects)
    good = [name for name in trusted if name in free and name not in doubtful]
    for suspect in suspects:
        partner = next((g for g in good if pair(g, suspect) not in met), None)
        if suspect in free and partner is not None:
            good.remove(partner)
            take(suspect, partner)
    for one, other in _round(list(free), number):
        take(one, other)
    return chosen


def every_pair(nodes: Sequence[str]) -> list[list[Pair]]:
    """All rounds of a round robin: for a few nodes the whole matrix is cheapest."""
    count = len(nodes) - 1 + len(nodes) % 2
    return [_round(list(nodes), number) for number in range(count)]


def _round(nodes: list[str], number: int) -> list[Pair]:
    """The circle method: the first node stays, the others move by one place per round. With an odd count one rests."""
    slots: list[str | None] = [*nodes, None] if len(nodes) % 2 else [*nodes]
    if len(slots) < 2:
        return []
    shift = number % (len(slots) - 1)
    circle = [slots[0], *slots[1 + shift :], *slots[1 : 1 + shift]]
    half = len(circle) // 2
    both = zip(circle[:half], reversed(circle[half:]), strict=True)
    return [pair(one, other) for one, other in both if one is not None and other is not None]


@lru_cache(maxsize=4)
def _interleaved(places: tuple[Pair, ...]) -> tuple[str, ...]:
    """Nodes ordered so that their leaves alternate, with the order of leaves shuffled each time; otherwise a round
    would use few links.

    The order is the same for all rounds of a probe. Nodes without a known leaf count as one leaf.
    """
    seen: Counter[str] = Counter()
    order = []
    for node, leaf in places:
        order.append((seen[leaf], crc32(f"{seen[leaf]} {leaf}".encode()), node))
        seen[leaf] += 1
    return tuple(node for _, _, node in sorted(order))
