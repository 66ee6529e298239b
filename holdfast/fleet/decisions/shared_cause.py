"""Shared cause of failing nodes: names the parents that explain them best; no node is explained twice.

A parent's worth is the number of failed nodes it explains, minus the number it needs: `shared_share` of all nodes
behind it. So a leaf with only failed nodes beats the loop above it if half of the loop is healthy. The loop beats the
leaf when more nodes fail than the leaf explains. The order of the failures does not matter.

Worth alone would also name racks in which many nodes fail by chance. So the parents are named only if the failures are
far more likely with them than with one failure rate for the whole fleet (`evidence`).
"""

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import NodeState, Stage

# Names that incidents and holds use for something else, and a node's own address on the fabric.
NOT_PARENTS = ("node", "pool", "maintenance", "fabric", "address", "scheduler", "controller")
# Required evidence for shared parents, in nats. Random failures reach it in at most exp(-7) = 0.1 % of storms, however
# often they are evaluated: the evidence is a Bayes factor, whose mean over random failures is 1.
ENOUGH_EVIDENCE = 7.0
MOST_BY_CHANCE = 0.5  # if a larger share of the whole fleet fails within `shared_seconds`, it is not by chance


Rank = tuple[float, int, bool, int, bool, str]

# The kind of parent that a check points to, if several parents have exactly the same nodes.
POINTS_TO = {
    ("gpu.throttle", "gpu.temperature", "gpu.thermal"): ("loop", "cdu"),
    ("gpu.power", "node.power"): ("feed", "pdu"),
    ("fabric.", "nic."): ("leaf", "switch", "rail"),
}


def kinds_for(check: str) -> tuple[str, ...]:
    """The kinds of parents that a failing check points to, the best first; () if it points to none."""
    return next((kinds for prefixes, kinds in POINTS_TO.items() if check.startswith(prefixes)), ())


class Places:
    """The nodes behind each parent. Updated node by node, so that a failure needs no pass over the fleet."""

    def __init__(self, nodes: Iterable[NodeState] = ()) -> None:
        self._parents: dict[str, tuple[str, ...]] = {}
        self._below: dict[str, set[str]] = {}
        for node in nodes:
            self.put(node)

    def __len__(self) -> int:
        return len(self._parents)

    def put(self, node: NodeState) -> None:
        """Stores the place of a node; a removed node is behind no parent."""
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

    @property
    def parent_count(self) -> int:
        return len(self._below)

    def below(self, parent: str) -> AbstractSet[str]:
        return self._below.get(parent, frozenset())


@dataclass(frozen=True, slots=True)
class SharedCause:
    """Many nodes behind one parent failing together: one incident on the parent, no quarantines below it."""

    parent: str  # 'loop/c2', 'leaf/leaf3'
    same: tuple[str, ...]  # parents with exactly the same nodes, which cannot be distinguished
    nodes: frozenset[str]
    behind: int
    degraded: int = 0  # number of these nodes that do not fail, but degraded at the same time

    @property
    def name(self) -> str:
        return f"{self.parent} (or {', '.join(self.same)}: the same nodes)" if self.same else self.parent

    @property
    def reason(self) -> str:
        how = "failed or degraded" if self.degraded else "failed"
        return (
            f"{len(self.nodes)} of {self.behind} nodes behind {self.name} {how} together: "
            f"one incident on {self.parent}, no quarantine of its nodes"
        )


def explain(
    failed: Collection[str],
    places: Places,
    policy: Policy,
    known: Collection[str] = (),
    degraded: AbstractSet[str] = frozenset(),
    prefer: tuple[str, ...] = (),
) -> list[SharedCause]:
    """The parents that explain these failures, the best first. Of equal ones a known one goes first, then one of a kind
    in `prefer`.

    `degraded` nodes count as failed, but degradations alone name no parent: the seams find their cause.
    """
    found = _greedy(failed, places, policy, known, degraded, prefer)
    if len(failed) > MOST_BY_CHANCE * len(places) or (len(found) == 1 and len(found[0].nodes) == len(failed)):
        return found  # one parent may explain every failure: no failure elsewhere suggests chance
    gains = evidence(found, failed, places)
    most = max(range(len(gains)), key=gains.__getitem__, default=0)
    count = most + 1 if gains and gains[most] >= ENOUGH_EVIDENCE else 0
    accepted = found[:count]
    left = set(failed).difference(*(cause.nodes for cause in accepted))
    # An open shared cause stays while it explains enough of the rest, even if failures elsewhere are by chance.
    return accepted + (_greedy(left, places, policy, known, degraded, prefer, only=known) if known else [])


def _greedy(
    failed: Collection[str],
    places: Places,
    policy: Policy,
    known: Collection[str],
    degraded: AbstractSet[str],
    prefer: tuple[str, ...],
    only: Collection[str] | None = None,
) -> list[SharedCause]:
    """Chooses the parent that explains most failures, then the one that explains most of the rest, and so on."""
    explained: dict[str, set[str]] = {}
    for name in failed:
        for parent in places.parents(name):
            if only is None or parent in only:
                explained.setdefault(parent, set()).add(name)
    rank = partial(_rank, places=places, policy=policy, known=known, degraded=degraded, prefer=prefer)
    waiting = [ranked for parent, names in explained.items() if (ranked := rank(parent, names)) is not None]
    heapq.heapify(waiting)
    found: list[SharedCause] = []
    while waiting:
        parent = waiting[0][-1]
        current = rank(parent, explained[parent])
        if current != waiting[0]:  # its rank fell, because other parents explain some of its nodes
            heapq.heappop(waiting) if current is None else heapq.heapreplace(waiting, current)
            continue
        heapq.heappop(waiting)
        best = _shared_cause(parent, explained, places, degraded)
        found.append(best)
        for name in best.nodes:
            for one in places.parents(name):
                if one in explained:
                    explained[one].discard(name)
    return found


def evidence(found: Sequence[SharedCause], failed: Collection[str], places: Places) -> list[float]:
    """For the first of the parents, for the first two and so on: how much better they explain the failures than chance.

    The natural logarithm of a Bayes factor. Chance is one unknown failure rate for the whole fleet. Otherwise each
    parent has its own rate and all other nodes share another. The evidence is reduced for the number of parents that
    could have been named.
    """
    total, rest_failed, rest = len(places), set(failed), len(places)
    covered: set[str] = set()
    inside = 0.0
    gains = []
    for cause in found:
        behind = places.below(cause.parent) - covered
        covered |= behind
        here = len(behind & rest_failed)
        rest_failed -= behind
        rest -= len(behind)
        inside += _likelihood(here, len(behind)) - math.log(places.parent_count)
        gains.append(inside + _likelihood(len(rest_failed), rest) - _likelihood(len(failed), total))
    return gains


def _likelihood(failed: int, nodes: int) -> float:
    """Logarithm of the probability that exactly these nodes fail, integrated over their common rate."""
    return math.lgamma(failed + 1) + math.lgamma(nodes - failed + 1) - math.lgamma(nodes + 2)


def _rank(
    parent: str,
    names: set[str],
    places: Places,
    policy: Policy,
    known: Collection[str],
    degraded: AbstractSet[str],
    prefer: tuple[str, ...],
) -> Rank | None:
    """Sort key, the smallest is the best; None if the parent explains too few failures, or only degradations."""
    behind = len(places.below(parent))
    if not enough(len(names), behind, policy) or names <= degraded:
        return None
    worth = policy.shared_share * behind - len(names)
    return worth, -len(names), parent not in known, behind, parent.partition("/")[0] not in prefer, parent


def _shared_cause(
    parent: str, explained: Mapping[str, set[str]], places: Places, degraded: AbstractSet[str]
) -> SharedCause:
    below, nodes = places.below(parent), frozenset(explained[parent])
    # A parent with the same nodes is a parent of each of them.
    others = (one for one in places.parents(next(iter(nodes))) if one != parent and one in explained)
    same = tuple(sorted(one for one in others if places.below(one) == below))
    return SharedCause(parent, same, nodes, len(below), len(nodes & degraded))


def enough(failed: int, behind: int, policy: Policy) -> bool:
    return failed >= policy.shared_nodes and failed >= policy.shared_share * behind


def suspect(name: str, failed: AbstractSet[str], places: Places, policy: Policy) -> tuple[str, int]:
    """The parent that may soon explain this node, and the number of other failing nodes behind it. Most failures win,
    then the smallest parent.

    ('', 0) if no parent has enough nodes behind it to be a shared cause.
    """
    found = [
        (-len(below & failed - {name}), len(below), parent)
        for parent in places.parents(name)
        if len(below := places.below(parent)) >= max(2, policy.shared_nodes)
    ]
    others, _, parent = min(found, default=(0, 0, ""))
    return parent, -others
