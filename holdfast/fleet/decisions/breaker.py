"""Breaker and spares of a pool: how many nodes may be out of service, how many are held back."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage


@dataclass(slots=True)
class Tally:
    """Node counts of one pool, updated incrementally, because counting 12,500 nodes at every failure is slow."""

    here: int = 0  # nodes, without removed ones
    out: int = 0  # of these, out of service
    doubted: int = 0  # of those out, only for a test that a job requested
    spares: set[str] = field(default_factory=set)

    def count(self, node: NodeState, change: int) -> None:
        """`change`: 1 adds a node, -1 removes it."""
        if node.stage is Stage.REMOVED:
            return
        self.here += change
        self.out += change * node.out
        self.doubted += change * (node.doubted and not node.out)
        if node.stage is Stage.SPARE:
            (self.spares.add if change > 0 else self.spares.discard)(node.name)


def tally(nodes: Iterable[NodeState], pool: str) -> Tally:
    counted = Tally()
    for node in nodes:
        if node.pool == pool:
            counted.count(node, 1)
    return counted


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether another node of a pool may be taken out of service now, and why."""

    open: bool  # open means tripped: no further node is taken out
    out: int
    cap: int
    text: str

    @property
    def reason(self) -> str:
        return f"breaker open: {self.text}; observing only" if self.open else self.text


def breaker(nodes: Iterable[NodeState], pool: str, policy: Policy) -> Breaker:
    return breaker_of(tally(nodes, pool), pool, policy)


def breaker_of(counted: Tally, pool: str, policy: Policy) -> Breaker:
    """A share of the pool and an absolute cap; the smaller applies, and one node may always leave."""
    own = policy.of(pool)
    cap = max(1, min(own.breaker_nodes, int(own.breaker_share * counted.here)))
    tripped = counted.out >= cap
    text = f"{counted.out} of {counted.here} nodes of pool {pool} are out of service, {cap} may be"
    return Breaker(tripped, counted.out, cap, text)


def spares_wanted(counted: Tally, pool: str, policy: Policy, returning: int = 0) -> int:
    """Each node that is out uses one spare, so the number of spares held back decreases. A removed node uses none."""
    return max(0, policy.of(pool).spares - (counted.out - returning))


def spares_short(nodes: Iterable[NodeState], pool: str, policy: Policy) -> int:
    """How many of the configured spares the pool lacks."""
    return max(0, policy.of(pool).spares - len(tally(nodes, pool).spares))
