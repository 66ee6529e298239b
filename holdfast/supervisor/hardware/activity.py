"""Compares hardware activity with that of normal steps: GPU power and utilisation, RDMA traffic. Pure.

A GPU that only waits in a collective is in use all the time, but draws far less power than one that computes.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

WINDOW_SECONDS = 5.0
_KEPT = 600
_ENOUGH = 3  # stretches of work needed for a baseline
_STRETCH_SECONDS = 2.0
_LEAST_RATE = 1e6  # bytes per second: less is background traffic of the fabric
_FLOWS, _WORKS, _WAITS = 0.1, 0.85, 0.6  # share of the usual activity
_IN_USE = 0.9


@dataclass(frozen=True, slots=True)
class ActivitySample:
    at: float  # steady clock
    gpus: tuple[tuple[float, float], ...] = ()  # use (0 to 1) and watts of each GPU of the job
    rdma_bytes: float | None = None  # sent and received by all ports so far


@dataclass(frozen=True, slots=True)
class Signs:
    """`moves`: some device works as usual. `waiting`: number of GPUs that only wait in a collective."""

    moves: bool = False
    waiting: int = 0
    says: tuple[str, ...] = ()


class Activity:
    def __init__(self) -> None:
        self._samples: deque[ActivitySample] = deque(maxlen=_KEPT)
        self._watts: deque[float] = deque(maxlen=64)
        self._rates: deque[float] = deque(maxlen=64)
        self._since: float | None = None  # samples from this time on belong to the current stretch of work
        self._most_watts, self._most_rate = 0.0, 0.0

    def add(self, sample: ActivitySample) -> None:
        self._samples.append(sample)

    def progress(self, now: float) -> None:
        """A step was made. The samples since the last step are normal for this run."""
        seen = [one for one in self._samples if self._since is not None and self._since < one.at <= now]
        if len(seen) > 1 and seen[-1].at - seen[0].at >= _STRETCH_SECONDS:
            if watts := [watts for one in seen for _, watts in one.gpus]:
                self._watts.append(fmean(watts))
            if (rate := _rate(seen)) is not None:
                self._rates.append(rate)
            self._since = now
        elif self._since is None:
            self._since = now

    def is_busy(self, sample: ActivitySample) -> bool:
        """Whether activity is near its maximum, for a run without progress lines."""
        watts = max((watts for use, watts in sample.gpus if use > 0.0), default=0.0)
        rate = _rate([*self._samples][-2:]) or 0.0
        self._most_watts, self._most_rate = max(self._most_watts, watts), max(self._most_rate, rate)
        draws = watts > 0.0 and watts >= _WORKS * self._most_watts
        return draws or rate >= max(_LEAST_RATE, _FLOWS * self._most_rate)

    def signs(self, now: float) -> Signs:
        """Signs from the last seconds; none without samples or without a baseline."""
        seen = [one for one in self._samples if now - WINDOW_SECONDS - 1.0 <= one.at <= now]
        if len(seen) < 3 or seen[-1].at - seen[0].at < WINDOW_SECONDS - 2.0:
            return Signs()
        works, waiting, power = self._of_gpus(seen)
        flows, traffic = self._of_traffic(seen)
        return Signs(works or flows, 0 if works else waiting, (*power, *traffic))

    def _of_gpus(self, seen: Sequence[ActivitySample]) -> tuple[bool, int, tuple[str, ...]]:
        usual = _usual(self._watts)
        count = min(len(one.gpus) for one in seen)
        if usual is None or not count:
            return False, 0, ()
        use = [fmean(one.gpus[number][0] for one in seen) for number in range(count)]
        watts = [fmean(one.gpus[number][1] for one in seen) for number in range(count)]
        works = any(drawn >= _WORKS * usual for drawn in watts)
        waiting = sum(share >= _IN_USE and drawn <= _WAITS * usual for share, drawn in zip(use, watts, strict=True))
        return works, waiting, (f"its GPUs draw {fmean(watts):.0f} W where {usual:.0f} W is usual",)

    def _of_traffic(self, seen: Sequence[ActivitySample]) -> tuple[bool, tuple[str, ...]]:
        usual, rate = _usual(self._rates), _rate(seen)
        if usual is None or rate is None or usual < _LEAST_RATE:
            return False, ()
        return rate >= _FLOWS * usual, (f"its RDMA ports carry {rate / 1e6:.0f} MB/s where {usual / 1e6:.0f} is usual",)


def _usual(values: deque[float]) -> float | None:
    return median(values) if len(values) >= _ENOUGH else None


def _rate(seen: Sequence[ActivitySample]) -> float | None:
    if len(seen) < 2:
        return None
    first, last = seen[0], seen[-1]
    if first.rdma_bytes is None or last.rdma_bytes is None or last.at <= first.at:
        return None
    return max(last.rdma_bytes - first.rdma_bytes, 0.0) / (last.at - first.at)
