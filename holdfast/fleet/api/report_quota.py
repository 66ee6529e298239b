"""Quota per node for reports: they are stored, and one stolen credential must not fill the disk or the queue."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.fleet.api.problem import Problem

BURST_BYTES = 64 << 20  # an agent keeps at most 8 MB for a controller that is away
BYTES_PER_SECOND = 32 << 10  # an agent with eight ranks needs less than 1 kB
LEAST_COST = 1 << 10  # of a request, whatever its size: each is a row and a place in a batch
MOST_UNDER_WAY = 8  # an agent sends one at a time; those it gave up on may still wait here
RETRY_SECONDS = 30


class ReportQuota:
    """Belongs to the event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}  # bytes of the burst, and when
        self._under_way: dict[str, int] = {}

    @contextmanager
    def request(self, node: str) -> Iterator[None]:
        """Around one request of a node. Raises Problem 429."""
        under_way = self._under_way.get(node, 0)
        if under_way >= MOST_UNDER_WAY:
            raise _refused(f"{under_way} requests of {node} are under way already")
        self._under_way[node] = under_way + 1
        try:
            yield
        finally:
            self._under_way[node] -= 1
            if not self._under_way[node]:
                del self._under_way[node]

    def spend(self, node: str, size: int) -> None:
        """Raises Problem 429 when a node has sent too much; then nothing of the request is taken."""
        now = self._clock()
        spent, at = self._spent.get(node, (0.0, now))
        spent = max(0.0, spent - (now - at) * BYTES_PER_SECOND) + max(size, LEAST_COST)
        if spent > BURST_BYTES:
            raise _refused(f"{node} reports more than {BYTES_PER_SECOND >> 10} kB a second")
        self._spent[node] = (spent, now)


def _refused(why: str) -> Problem:
    return Problem(429, f"{why}; try again", {"Retry-After": str(RETRY_SECONDS)})
