"""What failing nodes share. The parents that explain them best are named; no node is explained twice.

A parent's worth is the number of failed nodes it explains, less the number it needs: `shared_share` of all behind it.
So a leaf whose every node failed beats the loop above it of which half stayed healthy, and the loop beats the leaf as
soon as more fails than the leaf can explain, in whatever order the failures arrive.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage

# Names that incidents and holds use for something else, and a node's own address on the fabric.
NOT_PARENTS = ("node", "pool", "maintenance", "fabric", "address", "controller")
# A parent is suspect when so many others behind it fail as chance would bring in one of 500 failures. Held up by
# mistake, a drain waits `shared_wait_seconds`, so at most one in a hundred may be.
SURPRISE = 0.002
USUAL_RATE = 3e-5  # failures per node within `shared_seconds` of a fleet in which nothing else fails


class Places:
    """Which nodes lie behind which parent. Kept up to date, so that a failure costs no look at every node."""

    def __init__(self, nodes: Iterable[NodeState] = ()) -> None:
        self._parents: dict[str, tuple[str, ...]] = {}
        self._below: dict[str, set[str]] = {}
        for node in nodes:
            self.put(node)

    def __len__(self) -> int:
        return len(self._parents)

    def put(self, node: NodeState) -> None:
        """Where a node is now; one that a person has is behind nothing."""
        for parent in self._parents.pop(node.name, ()):
            self._below[parent].discard(node.name)
        if node.stage is Stage.REMOVED:
            return
        parents = tuple(f"{kind}/{name}" for kind, name in sorted(node.place.items()) if kind not in NOT_PARENTS)
        self._parents[node.name] = parents
        for parent in parents:
            self._below.setdefault(parent, set()).add(node.name)

    def parents(self, name: str) -> tuple[str, ...]:
        return self._parents.get(name, ())

    def below(self, parent: str) -> AbstractSet[str]:
        return self._below.get(parent, frozenset())


@dataclass(frozen=True, slots=True)
class SharedCause:
    """Many nodes behind one parent failing together: one incident on the parent, no quarantines below it."""

    parent: str  # 'loop/c2', 'leaf/leaf3'
    same: tuple[str, ...]  # parents with the very same nodes behind them: nothing tells them apart
    nodes: frozenset[str]
    behind: int

    @property
    def name(self) -> str:
        return f"{self.parent} (or {', '.join(self.same)}: the same nodes)" if self.same else self.parent

    @property
    def reason(self) -> str:
        return (
            f"{len(self.nodes)} of {self.behind} nodes behind {self.name} failed together: "
            f"one incident on {self.parent}, no quarantine of its nodes"
        )


def explain(failed: Collection[str], places: Places, policy: Policy, known: Collection[str] = ()) -> list[SharedCause]:
    """The parents that account for these failures, the best first. Between equals one that is known already stays."""
    explained: dict[str, set[str]] = {}
    for name in failed:
        for parent in places.parents(name):
            explained.setdefault(parent, set()).add(name)
    found: list[SharedCause] = []
    while (best := _best(explained, places, policy, known)) is not None:
        found.append(best)
        for name in best.nodes:
            for parent in places.parents(name):
                explained[parent].discard(name)
    return found


def _best(
    explained: Mapping[str, set[str]], places: Places, policy: Policy, known: Collection[str]
) -> SharedCause | None:
    ranked = [
        (policy.shared_share * behind - len(names), -len(names), parent not in known, behind, parent)
        for parent, names in explained.items()
        if enough(len(names), behind := len(places.below(parent)), policy)
    ]
    if not ranked:
        return None
    parent = min(ranked)[-1]
    below = places.below(parent)
    same = tuple(sorted(one for one in explained if one != parent and places.below(one) == below))
    return SharedCause(parent, same, frozenset(explained[parent]), len(below))


def enough(failed: int, behind: int, policy: Policy) -> bool:
    return failed >= policy.shared_nodes and failed >= policy.shared_share * behind


def suspect(name: str, failed: AbstractSet[str], places: Places, policy: Policy) -> str:
    """A parent that may soon explain this node: more behind it fail than the others' rate allows, or ''."""
    for parent in places.parents(name):
        below = places.below(parent)
        inside, behind, elsewhere = len(below & failed), len(below), len(places) - len(below)
        if behind < policy.shared_nodes or not elsewhere or inside < (policy.shared_nodes + 1) // 2:
            continue
        rate = (len(failed) - inside) / elsewhere + USUAL_RATE
        if _at_least(inside - 1, (behind - 1) * rate) < SURPRISE:
            return parent
    return ""


def _at_least(count: int, mean: float) -> float:
    """Poisson's chance of so many or more."""
    term = below = math.exp(-mean)
    for number in range(1, count):
        term *= mean / number
        below += term
    return 1.0 - below if count > 0 else 1.0
