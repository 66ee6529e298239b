"""Guards over the whole fleet: the breaker, the shared cause, the spares. They decide before a single node moves."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.lifecycle.policy import Policy
from holdfast.model.life import OUT_OF_SERVICE, NodeLife, Stage


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether another node of a pool may be taken out of service now, and why."""

    open: bool  # open as in tripped: nothing more is taken out; it observes and says so
    out: int
    cap: int
    reason: str


def breaker(nodes: Iterable[NodeLife], pool: str, policy: Policy) -> Breaker:
    """A share of the pool and an absolute cap; the smaller holds, and one node may always leave."""
    members = [node for node in nodes if node.pool == pool and node.stage is not Stage.REMOVED]
    out = sum(node.stage in OUT_OF_SERVICE for node in members)
    cap = max(1, min(policy.breaker_nodes, int(policy.breaker_share * len(members))))
    tripped = out >= cap
    words = f"{out} of {len(members)} nodes of pool {pool} are out of service, {cap} may be"
    return Breaker(tripped, out, cap, f"breaker open: {words}; observing only" if tripped else words)


@dataclass(frozen=True, slots=True)
class Failure:
    node: str
    at: float
    cause: str


@dataclass(frozen=True, slots=True)
class SharedCause:
    """Many nodes behind one parent failing together: one incident on the parent, no quarantines below it."""

    parent: str  # 'loop/c2', 'leaf/leaf3'
    nodes: tuple[str, ...]
    reason: str


def shared_cause(
    failures: Sequence[Failure], nodes: Sequence[NodeLife], now: float, policy: Policy
) -> SharedCause | None:
    """The parent that explains most of the recent failures, if one explains enough of them.

    Among parents that explain equally many the smallest wins: a leaf explains its own nodes better than its row.
    """
    recent = {failure.node for failure in failures if now - policy.shared_seconds <= failure.at <= now}
    below: Counter[str] = Counter()
    failing: dict[str, set[str]] = {}
    for node in nodes:
        for parent in (f"{kind}/{name}" for kind, name in node.place.items()):
            below[parent] += 1
            if node.name in recent:
                failing.setdefault(parent, set()).add(node.name)
    explained = [
        (len(names), -below[parent], parent)
        for parent, names in failing.items()
        if len(names) >= policy.shared_nodes and len(names) >= policy.shared_share * below[parent]
    ]
    if not explained:
        return None
    parent = max(explained)[2]
    names = tuple(sorted(failing[parent]))
    words = f"{len(names)} of {below[parent]} nodes behind {parent} failed within {policy.shared_seconds:.0f} s"
    return SharedCause(parent, names, f"{words}: one incident on {parent}, no quarantine of its nodes")


def spares_short(nodes: Iterable[NodeLife], pool: str, policy: Policy) -> int:
    """How many ready nodes the pool lacks of the spares it should hold."""
    ready = sum(node.pool == pool and node.stage is Stage.READY for node in nodes)
    return max(0, policy.spares - ready)
