"""Virtual clock with an ordered event queue. Equal times run in the order they were scheduled."""

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class VirtualClock:
    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Action]] = []
        self._count = 0

    def at(self, moment: float, action: Action) -> None:
        """Plan an action; one whose moment has passed happens next."""
        self._count += 1
        heapq.heappush(self._planned, (max(moment, self.now), self._count, action))

    def after(self, seconds: float, action: Action) -> None:
        self.at(self.now + seconds, action)

    def advance(self, until: float) -> None:
        """Let everything happen that is planned up to this moment, also what that plans in turn."""
        while self._planned and self._planned[0][0] <= until:
            self.now, _, action = heapq.heappop(self._planned)
            action()
        self.now = max(self.now, until)
