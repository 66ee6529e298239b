"""A clock that never jumps: wall time at start plus monotonic time since. Outages are measured on it."""

import time


class AgentClock:
    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return self._offset + time.monotonic()

    def jump_seconds(self) -> float:
        """How far the wall clock was stepped since start: positive when it was set forward."""
        return time.time() - self.now()
