"""Signals that cross domains: which direction hurts, the smallest relevant change, the plausible range."""

from functools import cache
from typing import NamedTuple

from holdfast.catalog.table import rows


class SeamSignal(NamedTuple):
    name: str
    family: str
    domain: str
    bad: str  # up, down, either
    least_absolute: float
    least_ratio: float
    lowest: float
    highest: float
    lives: bool
    sparse: bool


@cache
def signals() -> dict[str, SeamSignal]:
    return {row["signal"]: _signal(row) for row in rows("seam_signals.csv")}


def _signal(row: dict[str, str]) -> SeamSignal:
    return SeamSignal(
        name=row["signal"],
        family=row["family"],
        domain=row["domain"],
        bad=row["bad"],
        least_absolute=float(row["least_absolute"]),
        least_ratio=float(row["least_ratio"]),
        lowest=float(row["lowest"]),
        highest=float(row["highest"]),
        lives=row["lives"] == "1",
        sparse=row["sparse"] == "1",
    )
