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


def known(name: str) -> bool:
    return name in signals()


def implausible(name: str, value: float, least: float | None = None, most: float | None = None) -> str:
    """Why the value must come from a broken sensor or a wrong register; '' if it is plausible.

    `least` and `most` narrow the range of the catalog.
    """
    signal = signals().get(name)
    low = least if least is not None else signal.lowest if signal else float("-inf")
    high = most if most is not None else signal.highest if signal else float("inf")
    if value != value:
        return "the sensor says that it is not a number"
    if value in (float("inf"), float("-inf")):
        return "the number is larger than any sensor can mean"
    return "" if low <= value <= high else f"{value:.6g} cannot be: expected {low:g} to {high:g}"
