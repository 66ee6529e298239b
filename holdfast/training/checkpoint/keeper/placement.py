"""Placement of copies on nodes. Pure: the same nodes give every rank the same answer.

Nodes form groups of `replicas`, and each node keeps the copies of all others in its group. If the number does not
divide, the last ones form a ring. GEMINI (SOSP'23) proves that this survives the most
combinations of lost nodes, if `replicas` divides their number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

SAME_RACK = 1000  # a rack fails as a whole; a parallel group is evicted as a whole, which is rarer
SAME_GROUP = 1


@dataclass(frozen=True, slots=True)
class KeeperNode:
    name: str
    rack: str = ""  # "": unknown, and never equal to another
    group: str = ""  # the parallel group that is evicted together


@dataclass(frozen=True, slots=True)
class Placement:
    """Rings of nodes; a node and the next `replicas - 1` of its ring keep its copies."""

    circles: tuple[tuple[KeeperNode, ...], ...]
    replicas: int

    def partners(self, name: str) -> tuple[str, ...]:
        """Nodes that keep this node's copies in addition to itself, in order of preference."""
        for circle in self.circles:
            names = [node.name for node in circle]
            if name in names:
                at = names.index(name)
                return tuple(names[(at + step) % len(names)] for step in range(1, min(self.replicas, len(names))))
        raise KeyError(name)

    def survives(self, lost: Iterable[str]) -> bool:
        """Whether the copies of every node still exist after these nodes are lost."""
        gone = set(lost)
        names = [node.name for circle in self.circles for node in circle]
        return all(not {name, *self.partners(name)} <= gone for name in names)

    def shared(self) -> tuple[str, ...]:
        """Describes partners that share a rack or a parallel group."""
        return tuple(
            f"{one.name} and {other.name} share {_what_is_shared(one, other)}"
            for circle in self.circles
            for one, other in combinations(circle, 2)
            if _cost(one, other)
        )


def place(nodes: Sequence[KeeperNode], replicas: int) -> Placement:
    """Places copies: partners are never on the same node, and in the same rack or parallel group only if
    unavoidable."""
    if replicas < 1:
        raise ValueError(f"{replicas} replicas: expected 1 or more")
    names = {node.name for node in nodes}
    if len(names) != len(nodes):
        raise ValueError("two nodes have one name: expected a name for each node")
    size = min(replicas, len(nodes))
    if not nodes:
        return Placement((), replicas)
    ordered = _by_domain(nodes)
    circles = len(ordered) // size
    # Neighbours in the order share domains, so the members of a ring are taken far apart.
    dealt = [[ordered[place * circles + at] for place in range(size)] for at in range(circles)]
    dealt[-1] += ordered[circles * size :]
    _swap_apart(dealt)
    return Placement(tuple(tuple(circle) for circle in dealt), size)


def chance_of_recovery(placement: Placement, lost: int) -> float:
    """Exact probability that memory alone suffices after so many random nodes failed at once."""
    total = sum(len(circle) for circle in placement.circles)
    if not 0 <= lost <= total:
        raise ValueError(f"{lost} lost nodes: expected 0 to {total}")
    ways = [1] + [0] * lost
    for circle in placement.circles:
        harmless = [_harmless(len(circle), placement.replicas, dead) for dead in range(min(len(circle), lost) + 1)]
        ways = [
            sum(ways[k - dead] * harmless[dead] for dead in range(min(k, len(harmless) - 1) + 1))
            for k in range(lost + 1)
        ]
    return ways[lost] / comb(total, lost)


def _harmless(size: int, run: int, dead: int) -> int:
    """Ways to lose so many nodes of a ring without `run` neighbours in a row, which would lose copies."""
    if dead < run:
        return comb(size, dead)
    alive = size - dead
    if alive == 0:
        return 0
    # Rotate the ring to start at a live node: then the dead fill `alive` gaps of at most run - 1 each.
    gaps: int = sum(
        (-1) ** j * comb(alive, j) * comb(dead - j * run + alive - 1, alive - 1) for j in range(dead // run + 1)
    )
    return size * gaps // alive


def _by_domain(nodes: Sequence[KeeperNode]) -> list[KeeperNode]:
    crowd: dict[str, int] = {}
    for node in nodes:
        crowd[node.rack] = crowd.get(node.rack, 0) + 1
    return sorted(nodes, key=lambda node: (-crowd[node.rack], node.rack, node.group, node.name))


def _swap_apart(circles: list[list[KeeperNode]]) -> None:
    """Swaps members of rings that share a domain, as long as that helps."""
    better = True
    while better:
        better = any(_improve(circles, at) for at in range(len(circles)) if _circle_cost(circles[at]))


def _improve(circles: list[list[KeeperNode]], at: int) -> bool:
    here = circles[at]
    for there in circles:
        if there is here:
            continue
        before = _circle_cost(here) + _circle_cost(there)
        for i in range(len(here)):
            for j in range(len(there)):
                here[i], there[j] = there[j], here[i]
                if _circle_cost(here) + _circle_cost(there) < before:
                    return True
                here[i], there[j] = there[j], here[i]
    return False


def _circle_cost(circle: Sequence[KeeperNode]) -> int:
    return sum(_cost(one, other) for one, other in combinations(circle, 2))


def _cost(one: KeeperNode, other: KeeperNode) -> int:
    same_rack = bool(one.rack) and one.rack == other.rack
    same_group = bool(one.group) and one.group == other.group
    return SAME_RACK * same_rack + SAME_GROUP * same_group


def _what_is_shared(one: KeeperNode, other: KeeperNode) -> str:
    return f"rack {one.rack}" if one.rack and one.rack == other.rack else f"parallel group {one.group}"
