"""Quota per caller for signals sent to the seams, because their window is in memory."""

from collections.abc import Sequence

from holdfast.fleet.api.problem import Problem

SHARE_SECONDS = 3_600.0
MOST_EVENTS_A_MINUTE = 300


class CallerQuota:
    """Quota of one caller: subjects with their signals per hour, and events per minute.

    Without a quota, one agent's token could fill the window and push out the data of others.
    """

    def __init__(self, most: int) -> None:
        self._most, self._pairs, self._since = most, set[tuple[str, str]](), 0.0
        self._events, self._minute = 0, 0

    def take(self, pairs: Sequence[tuple[str, str]], events: int, now: float) -> None:
        """Counts a request. Raises Problem 429 if it exceeds the quota; then nothing of the request is taken."""
        if now - self._since >= SHARE_SECONDS:
            self._pairs, self._since = set(), now
        if int(now // 60) != self._minute:
            self._events, self._minute = 0, int(now // 60)
        wanted = self._pairs.union(pairs)
        if len(wanted) > self._most:
            why = f"more than {self._most} subjects with their signals within {SHARE_SECONDS / 60:.0f} minutes"
            raise Problem(429, f"{why}; report fewer", {"Retry-After": "600"})
        if self._events + events > MOST_EVENTS_A_MINUTE:
            raise Problem(429, f"more than {MOST_EVENTS_A_MINUTE} events within a minute", {"Retry-After": "60"})
        self._pairs, self._events = wanted, self._events + events
