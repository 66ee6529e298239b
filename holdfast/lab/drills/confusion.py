"""Confusion matrix of kinds, with confidence intervals."""

from collections import Counter
from collections.abc import Iterable
from math import sqrt

NOTHING = "nothing"
NORMAL_95 = 1.959964


def wilson(hits: int, of: int, z: float = NORMAL_95) -> tuple[float, float]:
    """Wilson interval: contains the true share with a probability of 95 %."""
    if of == 0:
        return 0.0, 1.0
    share = hits / of
    middle = share + z * z / (2 * of)
    reach = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def upper_bound(hits: int, of: int) -> float:
    """One-sided upper bound at 95 %: 0 of 50 is still compatible with 5 %."""
    return wilson(hits, of, 1.644854)[1]


def matrix(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Rows are the true kinds, columns the reported ones."""
    counted = Counter(pairs)
    rows: dict[str, dict[str, int]] = {}
    for (truth, found), many in sorted(counted.items()):
        rows.setdefault(truth, {})[found] = many
    return rows
