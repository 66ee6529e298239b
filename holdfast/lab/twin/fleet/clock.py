"""Virtual time: what is to happen, in order. Equal times happen in the order they were planned."""

import heapq
from collections.abc import Callable

Deed = Callable[[], None]


class VirtualClock:
    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Deed]] = []
        self._count = 0

    def at(self, moment: float, deed: Deed) -> None:
        """Plan a deed; one whose moment has passed happens next."""
        self._count += 1
        heapq.heappush(self._planned, (max(moment, self.now), self._count, deed))

    def after(self, seconds: float, deed: Deed) -> None:
        self.at(self.now + seconds, deed)

    @property
    def next_at(self) -> float | None:
        return self._planned[0][0] if self._planned else None

    def advance(self, until: float) -> None:
        """Let everything happen that is planned up to this moment, also what that plans in turn."""
        while self._planned and self._planned[0][0] <= until:
            self.now, _, deed = heapq.heappop(self._planned)
            deed()
        self.now = max(self.now, until)
