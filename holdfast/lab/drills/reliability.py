"""Reliability of confidence: of the findings stated with 90 %, are 90 % right?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.lab.drills.confusion import wilson

EDGES = (0.0, 0.7, 0.8, 0.9, 0.95, 1.0)
LEAST_STEP = 0.001  # minimum slope between two knots, so that a higher raw confidence never means less


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFinding:
    """One finding of one drill, in its last form."""

    raw: float  # before calibration
    confidence: float
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    low: float
    high: float
    claims: int
    mean_confidence: float  # mean confidence
    right: int

    def as_json(self) -> dict[str, float | int]:
        least, most = wilson(self.right, self.claims)
        return {
            "from": self.low, "to": self.high, "findings": self.claims,
            "mean_confidence": round(self.mean_confidence, 3), "right": self.right,
            "right_low": round(least, 3), "right_high": round(most, 3),
        }  # fmt: skip


def bands(claims: Iterable[ScoredFinding]) -> list[Band]:
    """Findings grouped by confidence; empty bands are left out."""
    found = []
    everything = list(claims)
    for low, high in pairwise(EDGES):
        mine = [one for one in everything if low <= one.confidence < high or (high == 1.0 and one.confidence == 1.0)]
        if mine:
            mean_confidence = sum(one.confidence for one in mine) / len(mine)
            found.append(
                Band(
                    low=low,
                    high=high,
                    claims=len(mine),
                    mean_confidence=mean_confidence,
                    right=sum(one.right for one in mine),
                )
            )
    return found


def fitted(claims: Iterable[ScoredFinding], least: int = 25) -> list[tuple[float, float]]:
    """Calibration knots (raw, confidence) that never fall.

    Neighbouring groups are joined until each is at least as accurate as the one below it (pool adjacent violators).
    Each group counts one right and one wrong finding more than it has, so that no group reaches certainty.
    """
    groups: list[list[ScoredFinding]] = []
    for one in sorted(claims, key=lambda claim: claim.raw):
        if groups and (len(groups[-1]) < least or one.raw == groups[-1][-1].raw):
            groups[-1].append(one)
        else:
            groups.append([one])
    if len(groups) > 1 and len(groups[-1]) < least:
        groups[-2:] = [groups[-2] + groups[-1]]
    joined: list[list[ScoredFinding]] = []
    for group in groups:
        joined.append(group)
        while len(joined) > 1 and _share(joined[-1]) < _share(joined[-2]):
            joined[-2:] = [joined[-2] + joined[-1]]
    return [(_middle(group), _share(group) + place * LEAST_STEP) for place, group in enumerate(joined)]


def _share(group: Sequence[ScoredFinding]) -> float:
    return (sum(one.right for one in group) + 1) / (len(group) + 2)


def _middle(group: Sequence[ScoredFinding]) -> float:
    return sum(one.raw for one in group) / len(group)
