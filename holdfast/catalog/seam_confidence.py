"""Calibration of finding confidence, measured on random drills."""

from bisect import bisect_right
from functools import cache

from holdfast.catalog.table import rows


@cache
def knots() -> tuple[tuple[float, float], ...]:
    return tuple(sorted((float(row["raw"]), float(row["confidence"])) for row in rows("seam_confidence.csv")))


def calibrated(raw: float) -> float:
    """The calibrated confidence; it never falls as the raw one rises."""
    table = knots()
    place = bisect_right(table, (raw, float("inf")))
    if place == 0:
        return table[0][1]
    if place == len(table):
        return table[-1][1]
    (low, least), (high, most) = table[place - 1], table[place]
    return least + (most - least) * (raw - low) / (high - low)
