"""Virtual clock with an ordered event queue. Actions for the same time run in the order they were scheduled."""

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class VirtualClock:
    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Action]] = []
        self._count = 0

    def at(self, moment: float, action: Action) -> None:
        """Schedules an action; one whose time has passed runs next."""
        self._count += 1
        heapq.heappush(self._planned, (max(moment, self.now), self._count, action))

    def after(self, seconds: float, action: Action) -> None:
        self.at(self.now + seconds, action)

    def advance(self, until: float) -> None:
        """Runs all actions scheduled up to this moment, including those that they schedule."""
        while self._planned and self._planned[0][0] <= until:
            self.now, _, action = heapq.heappop(self._planned)
            action()
        self.now = max(self.now, until)
