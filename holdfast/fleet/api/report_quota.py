"""Quota per node for reports: they are stored, and one stolen credential must not fill the disk or the queue."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.fleet.api.problem import Problem

BURST_BYTES = 64 << 20  # an agent keeps at most 8 MB for a controller that is away
BYTES_PER_SECOND = 32 << 10  # an agent with eight ranks needs less than 1 kB
LEAST_COST = 1 << 10  # least cost of a request, because each takes a row and a place in a batch
MOST_UNDER_WAY = 8  # an agent sends one at a time; abandoned ones may still wait here
RETRY_SECONDS = 30


class ReportQuota:
    """Quotas of all nodes. Used only on the event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}  # node -> (used bytes of the burst, time)
        self._under_way: dict[str, int] = {}

    @contextmanager
    def request(self, node: str) -> Iterator[None]:
        """Wraps one request of a node. Raises Problem 429 if too many are under way."""
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
        """Counts the bytes of a request. Raises Problem 429 above the quota; then nothing of the request is taken."""
        now = self._clock()
        spent, at = self._spent.get(node, (0.0, now))
        spent = max(0.0, spent - (now - at) * BYTES_PER_SECOND) + max(size, LEAST_COST)
        if spent > BURST_BYTES:
            raise _refused(f"{node} reports more than {BYTES_PER_SECOND >> 10} kB a second")
        self._spent[node] = (spent, now)


def _refused(why: str) -> Problem:
    return Problem(429, f"{why}; try again", {"Retry-After": str(RETRY_SECONDS)})
