"""Majority vote: the bits that most devices of a kind produce count as correct. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable


def majorities(seen: Iterable[tuple[str, str]], least: float) -> dict[str, str]:
    """Kind of device and library -> the bits of more than half of the devices, if there are enough."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, bits in seen:
        counts[kind][bits] += 1
    best = {kind: (of_kind.most_common(1)[0], of_kind.total()) for kind, of_kind in counts.items()}
    return {kind: bits for kind, ((bits, count), asked) in best.items() if asked >= least and 2 * count > asked}
