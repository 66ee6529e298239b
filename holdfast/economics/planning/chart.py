"""A plan's curve as data."""

from dataclasses import dataclass
from math import isfinite, log10


@dataclass(frozen=True, slots=True)
class ChartLine:
    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class PlanChart:
    title: str
    across: str  # label of the x axis, with its unit
    up: str
    lines: tuple[ChartLine, ...]
    log_x: bool = False
    mark: tuple[float, float] | None = None  # the point of the answer


def spaced(low: float, high: float, count: int = 60) -> list[float]:
    """Points with equal ratios between neighbours."""
    step = (log10(high) - log10(low)) / (count - 1)
    return [float(10 ** (log10(low) + step * i)) for i in range(count)]


def drawn(line: ChartLine) -> list[tuple[float, float]]:
    return [(x, y) for x, y in line.points if isfinite(x) and isfinite(y)]
