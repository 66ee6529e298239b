"""Selects the idle nodes to probe next: suspects first, then repaired nodes, then the longest unproven. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations_with_replacement

from holdfast.model.wire.probe import ProbePolicy
from holdfast.node.probes.isolation.coverage import Coverage, LeafPair
from holdfast.node.probes.isolation.pairing import Pair, pair

DUE_SHARE = 0.5  # share of the period; the rest is for nodes that are busy at their turn
MOST_PARTNERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSituation:
    idle: Mapping[str, str]  # node -> its leaf, '' if unknown; nodes in a probe count as idle
    in_probe: Collection[str] = ()
    spent: Mapping[str, float] = field(default_factory=dict)  # seconds in probes within the last day
    repaired: Mapping[str, float] = field(default_factory=dict)  # results up to this time do not count
    doubts: Sequence[str] = ()  # parts to probe again: node/a, pair/a+b, trunk/l1+l2, uplinks/l1, leaf/l1
    trusted: Sequence[str] = ()  # known-good nodes, the best first


@dataclass(frozen=True, slots=True)
class PlannedSession:
    nodes: Pair
    why: str


def slots(idle: int, share: float) -> int:
    """Number of idle nodes that may be in a probe at once."""
    return max(2, int(share * idle))


def plan(situation: ProbeSituation, coverage: Coverage, policy: ProbePolicy, now: float) -> list[PlannedSession]:
    return _Plan(situation, coverage, policy, now).made()


class _Plan:
    def __init__(self, situation: ProbeSituation, coverage: Coverage, policy: ProbePolicy, now: float) -> None:
        self._now, self._coverage, self._situation = now, coverage, situation
        self._room = slots(len(situation.idle), policy.share) - len(situation.in_probe)
        self._due_before = now - DUE_SHARE * policy.period_seconds
        allowed = policy.seconds_per_day - policy.timeout_seconds
        self._free = {
            node: leaf
            for node, leaf in sorted(situation.idle.items(), key=lambda one: (self._proven(one[0]), one[0]))
            if node not in situation.in_probe and situation.spent.get(node, 0.0) <= allowed
        }
        self._made: list[PlannedSession] = []

    def made(self) -> list[PlannedSession]:
        if self._room < 2 or len(self._free) < 2:
            return []
        left = self._room // 2  # suspects leave room for the rest
        for part in self._situation.doubts:
            if self._room > left:
                self._take(self._retry(part), f"another measurement of {part}")
        trusted = [*self._situation.trusted, *self._free]
        for node in [n for n in self._situation.repaired if n in self._free and self._unproven(n)]:
            self._take(self._first([node], trusted), f"{node} was repaired")
        for leaves in self._leaves_due():
            here, there = ([n for n, leaf in self._free.items() if leaf == one] for one in leaves)
            self._take(self._first(here, there), f"leaves {leaves[0]} and {leaves[1]} are due")
        for node in [n for n in self._free if self._coverage.node_proven(n) <= self._due_before]:
            self._take(self._longest_unmet(node), f"{node} is due")
        return self._made

    def _proven(self, node: str) -> float:
        return self._coverage.node_proven(node)

    def _unproven(self, node: str) -> bool:
        return self._proven(node) <= self._situation.repaired[node]

    def _take(self, nodes: Pair | None, why: str) -> None:
        if nodes is None or self._room < 2:
            return
        self._made.append(PlannedSession(nodes, why))
        self._room -= 2
        for node in nodes:
            del self._free[node]

    def _retry(self, part: str) -> Pair | None:
        """The pair for a suspect: a node meets a trusted one, a pair meets again, shared parts are tested by trusted
        nodes of their leaves."""
        kind, _, name = part.partition("/")
        trusted = [node for node in self._situation.trusted if node in self._free]
        one, _, other = name.partition("+")
        if kind == "pair":
            return pair(one, other) if one in self._free and other in self._free else None
        if kind == "node":
            return self._first([name] if name in self._free else [], trusted)
        if kind == "trunk":
            return self._first(self._behind(one, trusted), self._behind(other, trusted))
        if kind == "uplinks":
            return self._first(self._behind(name, trusted), [n for n in trusted if self._free[n] != name])
        return self._first(self._behind(name, trusted), trusted) if kind == "leaf" else None

    def _behind(self, leaf: str, trusted: Sequence[str]) -> list[str]:
        """Trusted nodes of a leaf. If the leaf itself is slow there may be none; then any node without suspicion."""
        good = [node for node in trusted if self._free[node] == leaf]
        here = [node for node, own in self._free.items() if own == leaf]
        return good or [node for node in here if f"node/{node}" not in self._situation.doubts] or here

    def _first(self, ones: Sequence[str], others: Sequence[str]) -> Pair | None:
        """The two of the most urgent nodes whose last session is oldest."""
        found = [
            (self._coverage.met(one, other), number, pair(one, other))
            for number, (one, other) in enumerate(self._couples(ones, others))
        ]
        return min(found)[-1] if found else None

    def _couples(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[Pair]:
        for one in ones[:MOST_PARTNERS]:
            for other in others[:MOST_PARTNERS]:
                if one != other and one in self._free and other in self._free:
                    yield one, other

    def _leaves_due(self) -> list[LeafPair]:
        present = Counter(leaf for leaf in self._free.values() if leaf)
        due = [
            (proven, leaves)
            for leaves in combinations_with_replacement(sorted(present), 2)
            if leaves[0] != leaves[1] or present[leaves[0]] > 1
            if (proven := self._coverage.leaves_proven(leaves)) <= self._due_before
        ]
        return [leaves for _, leaves in nsmallest(self._room // 2, due)]

    def _longest_unmet(self, node: str) -> Pair | None:
        others = [one for one in list(self._free)[: MOST_PARTNERS + 1] if one != node]
        return self._first([node] if node in self._free else [], others)
