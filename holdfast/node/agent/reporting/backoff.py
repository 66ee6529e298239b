"""Pauses between attempts to reach a controller that does not take reports."""

import random

FIRST_SECONDS = 1.0
TAKEOVER_SECONDS = 120.0  # within this time another controller leads, or one is restarted
LONGEST_AT_FIRST_SECONDS = 8.0
LONGEST_SECONDS = 60.0


class Backoff:
    """Pauses between attempts: each is twice as long as the one before, and different for each agent.

    A controller is mostly replaced within seconds. So pauses stay short at first, and grow only in a long outage.
    """

    def __init__(self) -> None:
        self._pause = 0.0
        self._since: float | None = None

    def next_seconds(self, now: float) -> float:
        if self._since is None or now < self._since:  # the clock was set back
            self._since = now
        longest = LONGEST_AT_FIRST_SECONDS if now - self._since < TAKEOVER_SECONDS else LONGEST_SECONDS
        self._pause = min(longest, max(FIRST_SECONDS, 2 * self._pause))
        return self._pause * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._pause, self._since = 0.0, None
