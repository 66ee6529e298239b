"""The clock of timers: seconds since the epoch that never step back or ahead.

The machine's clock may be set back a day, or ahead. This one follows it slowly: at most 1 % faster or slower than real
time, so a timer of ten minutes lasts ten minutes even if the machine's clock is set.
"""

import threading
import time
from collections.abc import Callable

SLEW = 0.01  # share of the time that passed


def _since_boot() -> float:
    """Continues while the machine is suspended, unlike time.monotonic."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SteadyClock:
    def __init__(self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = _since_boot) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._lock = threading.Lock()
        self._value, self._read_at = wall(), elapsed()

    def __call__(self) -> float:
        with self._lock:
            at = self._elapsed()
            passed = max(0.0, at - self._read_at)
            behind = self._wall() - (self._value + passed)
            self._value += passed + min(max(behind, -SLEW * passed), SLEW * passed)
            self._read_at = at
            return self._value

    def at_least(self, at: float) -> float:
        """Continue from a stored time that is ahead, as after a restart with a clock set back. Returns the
        difference."""
        now = self()
        with self._lock:
            self._value = max(self._value, at)
        return max(0.0, at - now)


now = SteadyClock()  # the clock of this process
