"""Majority vote among replicas. Pure: every rank reaches the same result."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Ballot = Mapping[str, int]  # bucket: hash of this rank's values


@dataclass(frozen=True, slots=True)
class VoteResult:
    """`minority` is certain only if `named`: of two replicas that differ, either may be right."""

    minority: tuple[int, ...] = ()
    named: bool = False
    buckets: tuple[str, ...] = ()  # buckets that differ
    unknown: str = ""  # why some buckets could not be compared


def count(ballots: Sequence[Ballot]) -> VoteResult:
    votes: dict[str, dict[int, int]] = {}
    for rank, ballot in enumerate(ballots):
        for bucket, number in ballot.items():
            votes.setdefault(bucket, {})[rank] = number
    lonely = sorted(bucket for bucket, held in votes.items() if len(held) == 1)
    named: set[int] = set()
    unsure: set[int] = set()
    buckets = []
    for bucket, held in sorted(votes.items()):
        if len(set(held.values())) > 1:
            buckets.append(bucket)
            others = _others(held)
            named |= others
            unsure |= set() if others else set(held)
    return VoteResult(tuple(sorted(named or unsure)), bool(named), tuple(buckets), _reason(lonely, len(ballots)))


def _others(held: Mapping[int, int]) -> set[int]:
    """Replicas outside of a true majority; none if there is no majority."""
    number, times = Counter(held.values()).most_common(1)[0]
    return {rank for rank in held if held[rank] != number} if 2 * times > len(held) else set()


def _reason(lonely: Sequence[str], ranks: int) -> str:
    if not lonely:
        return ""
    if ranks == 1:
        return "there is one rank, and no replica to compare it with"
    more = f" and {len(lonely) - 1} more" if len(lonely) > 1 else ""
    return f"only one rank holds {lonely[0]}{more}: fully sharded state has no replica to compare with"
