"""Detects a loss or gradient norm that is NaN or far above its usual value. Pure; one detector per series and rank."""

import math
from collections import deque
from statistics import median

WINDOW = 64
WARM_UP = 16  # the first steps of a run fall fast and are not representative
FACTOR = 5.0  # multiple of the window's median
SPREADS = 20.0  # and multiple of the usual distance from the median


class JumpSeries:
    """`judge` says what is wrong with the newest value. Wrong values do not enter the window."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: deque[float] = deque(maxlen=WINDOW)
        self._limit = math.inf
        self._high = 0  # consecutive values above the limit

    def judge(self, value: float) -> str:
        if not math.isfinite(value):
            return f"{self.name} is {value}"
        if value > self._limit:
            self._high += 1
            if self._high < WARM_UP:
                return f"{self.name} is {value:.4g}, expected at most {self._limit:.4g}" if self._high == 1 else ""
            self._seen.clear()  # this many in a row are the new level
            self._limit = math.inf
        self._high = 0
        self._seen.append(value)
        if len(self._seen) >= WARM_UP:
            self._limit = limit(self._seen)
        return ""


def limit(values: deque[float]) -> float:
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    return middle + max((FACTOR - 1.0) * abs(middle), SPREADS * spread)
