"""Coverage: which nodes and leaves were probed together, when, and how fast they were. Pure."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from holdfast.model.wire.probe import Proof
from holdfast.node.probes.isolation.pairing import Pair, pair

LeafPair = tuple[str, str]
NEVER = float("-inf")
JUDGED_OF_A_NODE = 4
JUDGED_OF_LEAVES = 6


def proven_pair(proof: Proof) -> Pair:
    return pair(proof.one, proof.other)


class Coverage:
    """Results of one period, oldest first, and the latest of every node and every pair of leaves."""

    def __init__(self, leaves: Mapping[str, str]) -> None:
        """`leaves` is read at every use, because nodes are added and moved."""
        self._leaves = leaves
        self._proofs: deque[Proof] = deque()
        self._of_node: dict[str, float] = {}
        self._of_leaves: dict[LeafPair, Proof] = {}
        self._met: dict[Pair, float] = {}

    def __iter__(self) -> Iterator[Proof]:
        return iter(self._proofs)

    def __len__(self) -> int:
        return len(self._proofs)

    def add(self, proof: Proof) -> None:
        self._proofs.append(proof)
        self._met[proven_pair(proof)] = proof.at
        self._of_node[proof.one] = self._of_node[proof.other] = proof.at
        if (leaves := self.leaves_of(proof)) is not None:
            self._of_leaves[leaves] = proof

    def forget(self, before: float) -> None:
        while self._proofs and self._proofs[0].at < before:
            old = self._proofs.popleft()
            if self._met.get(proven_pair(old)) == old.at:
                del self._met[proven_pair(old)]

    def leaves_of(self, proof: Proof) -> LeafPair | None:
        here, there = self._leaves.get(proof.one, ""), self._leaves.get(proof.other, "")
        return (min(here, there), max(here, there)) if here and there else None

    def node_proven(self, node: str) -> float:
        return self._of_node.get(node, NEVER)

    def leaves_proven(self, leaves: LeafPair) -> float:
        proof = self._of_leaves.get(leaves)
        return proof.at if proof else NEVER

    def met(self, one: str, other: str) -> float:
        return self._met.get(pair(one, other), NEVER)

    def last_of_leaves(self) -> Mapping[LeafPair, Proof]:
        return self._of_leaves

    def judged(self, since: Mapping[str, float]) -> list[Proof]:
        """Sessions that count now: the newest few of every node and pair of leaves, and for a repaired node those after
        the repair.

        So old fast sessions do not outvote a new fault, and a repaired fault accuses nothing.
        """
        of_node: dict[str, int] = defaultdict(int)
        of_leaves: dict[LeafPair, int] = defaultdict(int)
        kept = []
        for proof in reversed(self._proofs):
            ends = (proof.one, proof.other)
            leaves = self.leaves_of(proof)
            if any(proof.at <= since.get(end, NEVER) or of_node[end] >= JUDGED_OF_A_NODE for end in ends):
                continue
            if leaves is not None and of_leaves[leaves] >= JUDGED_OF_LEAVES:
                continue
            kept.append(proof)
            for end in ends:
                of_node[end] += 1
            if leaves is not None:
                of_leaves[leaves] += 1
        return kept[::-1]

    def lately(self, most: int) -> Iterable[Proof]:
        """Newest first."""
        return islice(reversed(self._proofs), most)
