"""Queue of the writer. Work that changes the service of a node goes first, so that first reports of a whole fleet do
not delay a drain."""

import queue
from collections import deque

from holdfast.fleet.controller.transaction import ReportWork

MOST_IN_BATCH = 1_000
MOST_CHANGES_IN_BATCH = 2_000  # a first report has 44 verdicts; a commit must not delay the following work for long
MOST_CHANGES_BESIDE_URGENT = 440


class WorkQueue:
    """Any thread puts work; only the writer's thread takes it."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[ReportWork] = queue.SimpleQueue()
        self._urgent: deque[ReportWork] = deque()
        self._ordinary: deque[ReportWork] = deque()

    def __len__(self) -> int:
        return self._arrived.qsize() + len(self._urgent) + len(self._ordinary)

    def put(self, work: ReportWork) -> None:
        self._arrived.put(work)

    def wait(self, seconds: float) -> bool:
        """Waits for work; False if none came."""
        if self._urgent or self._ordinary:
            return True
        try:
            self._sort(self._arrived.get(timeout=seconds))
        except queue.Empty:
            return False
        return True

    def batch(self) -> list[ReportWork]:
        """All urgent work, then other work that fits into one short commit; each in the order of arrival."""
        for _ in range(self._arrived.qsize()):
            self._sort(self._arrived.get_nowait())
        batch = [self._urgent.popleft() for _ in range(min(len(self._urgent), MOST_IN_BATCH))]
        room = MOST_CHANGES_BESIDE_URGENT if batch else MOST_CHANGES_IN_BATCH
        while self._ordinary and len(batch) < 2 * MOST_IN_BATCH and room > 0:
            batch.append(self._ordinary.popleft())
            room -= batch[-1].changes
        return batch

    def _sort(self, work: ReportWork) -> None:
        (self._urgent if work.urgent else self._ordinary).append(work)
