"""Virtual clock with an ordered queue; equal times run in the order they were scheduled."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Clock:
    __slots__ = ("_asked", "_due", "end", "executed", "now")

    def __init__(self, end: float) -> None:
        self.now = 0.0
        self.end = end
        self.executed = 0
        self._asked = 0
        self._due: list[tuple[float, int, Callable[[Any], None], Any]] = []

    def at(self, time: float, call: Callable[[Any], None], what: Any) -> None:
        """Schedules an action; one after the end is dropped."""
        if time < self.end:
            self._asked += 1
            heappush(self._due, (time, self._asked, call, what))

    def after(self, seconds: float, call: Callable[[Any], None], what: Any) -> None:
        time = self.now + seconds
        if time < self.end:
            self._asked += 1
            heappush(self._due, (time, self._asked, call, what))

    def run(self) -> None:
        due = self._due
        while due:
            self.now, _, call, what = heappop(due)
            self.executed += 1
            call(what)
        self.now = self.end
