"""When the keeper may use network and storage: under a rate, and while the ranks of its node do not communicate.

A rank says by one byte of shared memory that it communicates now; without its word only the rate holds.
"""

import threading
import time

from holdfast.training.checkpoint.keeper.memory import Pages

LONGEST_WAIT_SECONDS = 0.25  # for a gap, with one chunk: a training that always communicates is not waited for for ever
LOOK_SECONDS = 0.001


class Gaps:
    """One byte for each rank that is here."""

    def __init__(self) -> None:
        self._marks: dict[int, Pages] = {}

    def mark_of(self, rank: int) -> Pages:
        """What the rank writes into: 1 while it communicates, 0 in between."""
        if rank not in self._marks:
            self._marks[rank] = Pages.new(f"communicates-{rank}", 1)
        self._marks[rank].map[0] = 0
        return self._marks[rank]

    def left(self, rank: int) -> None:
        if rank in self._marks:
            self._marks[rank].map[0] = 0

    def communicating(self) -> list[int]:
        return [rank for rank, mark in list(self._marks.items()) if mark.map[0]]

    def wait(self) -> float:
        """Until nobody here communicates, and at most so long; how long it was."""
        begun = time.monotonic()
        while self.communicating():
            if time.monotonic() - begun >= LONGEST_WAIT_SECONDS:
                break
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - begun


class Pace:
    """Keeps under a rate over all that share it; with gaps, each chunk waits for one first."""

    def __init__(self, bytes_per_second: float, gaps: Gaps | None = None) -> None:
        self.bytes_per_second, self._gaps = bytes_per_second, gaps
        self._free_at = 0.0
        self._lock = threading.Lock()
        self.waited_seconds = 0.0  # for gaps

    def wait(self, count: int) -> None:
        if self._gaps is not None:
            self.waited_seconds += self._gaps.wait()
        if self.bytes_per_second <= 0:
            return
        with self._lock:
            now = time.monotonic()
            begins = max(self._free_at, now)
            self._free_at = begins + count / self.bytes_per_second
        time.sleep(begins - now)
