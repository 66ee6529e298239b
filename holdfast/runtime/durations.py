"""Histogram of durations in Prometheus buckets."""

from bisect import bisect_left
from collections.abc import Sequence


class Durations:
    """A histogram. One thread adds values, any thread reads."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)  # upper bounds, in seconds
        self._counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, int]]:
        """(upper bound, number of durations up to it); the last bound is +Inf."""
        names = [*(str(bound) for bound in self.bounds), "+Inf"]
        found, sum_ = [], 0
        for name, count in zip(names, list(self._counts), strict=True):
            sum_ += count
            found.append((name, sum_))
        return found
