"""When the keeper may use CPU, network and storage: with lower priority than training, below a rate, and while the
ranks of its node do not communicate.

A rank announces communication in one byte of shared memory. Without this byte only the rate applies.
"""

import math
import os
import threading
import time
from contextlib import suppress

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.next_buffer import BOARD_BYTES, WAITS

LONGEST_WAIT_SECONDS = 0.25  # for a gap, with one chunk: a training that always communicates is not waited for for ever
POLL_SECONDS = 0.001
NICENESS = 15  # above training's, of threads that copy, hash and encrypt: a 28th of its share of a busy processor
LOWEST_PRIORITY = 19
SHARE_OF_INTERVAL = 0.5  # between two saves in which copies are sent: a burst would slow down the next step
REPLICA_SECONDS = 5.0  # at most, for sending a copy: one that is not at its partner is lost with its node


def behind_training() -> None:
    """From now on this thread yields to training; threads that answer a waiting rank do not."""
    thread = threading.get_native_id()
    with suppress(OSError):
        nice = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(nice + NICENESS, LOWEST_PRIORITY))


class Overdue:
    """Whether background work has been waiting for so long that it may no longer yield to training."""

    def __init__(self) -> None:
        self._due: dict[object, float] = {}

    def begin(self, work: object, wait_seconds: float = 2 * REPLICA_SECONDS) -> None:
        self._due.setdefault(work, time.monotonic() + wait_seconds)

    def end(self, work: object) -> None:
        self._due.pop(work, None)

    def now(self) -> bool:
        return min(list(self._due.values()), default=math.inf) <= time.monotonic()


class CopyBudget:
    """How long a copy may take to its partners: a part of the time between two saves, shared by the ranks that save."""

    def __init__(self, longest_seconds: float = REPLICA_SECONDS) -> None:
        self.longest_seconds = longest_seconds
        self._saved: dict[int, float] = {}
        self._between: dict[int, float] = {}

    def saved(self, rank: int, now: float) -> None:
        before = self._saved.get(rank)
        self._saved[rank] = now
        if before is not None:
            self._between[rank] = now - before

    def seconds(self, rank: int) -> float:
        """0 where there is no interval yet."""
        longest = min(SHARE_OF_INTERVAL * self._between.get(rank, 0.0), self.longest_seconds)
        return longest / max(len(self._between), 1)


class Gaps:
    """One byte for each rank that is here."""

    def __init__(self) -> None:
        self._marks: dict[int, Pages] = {}

    def mark_of(self, rank: int) -> Pages:
        """What the rank writes into: its first byte is 1 while it communicates, 0 in between."""
        if rank not in self._marks:
            self._marks[rank] = Pages.new(f"board-{rank}", BOARD_BYTES)
        self._marks[rank].map[0] = self._marks[rank].map[WAITS] = 0
        return self._marks[rank]

    def left(self, rank: int) -> None:
        if rank in self._marks:
            self._marks[rank].map[0] = self._marks[rank].map[WAITS] = 0

    def communicating(self) -> list[int]:
        return [rank for rank, mark in list(self._marks.items()) if mark.map[0]]

    def awaited(self) -> bool:
        """Whether a rank waits for an answer of the keeper."""
        return any(mark.map[WAITS] for mark in list(self._marks.values()))

    def wait(self) -> float:
        """Until no one here communicates, and at most so long; how long it was."""
        begun = time.monotonic()
        while self.communicating():
            if time.monotonic() - begun >= LONGEST_WAIT_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begun


class RateLimit:
    """Keeps under a rate over all that share it; with gaps, each chunk waits for one first."""

    def __init__(self, bytes_per_second: float, gaps: Gaps | None = None) -> None:
        self.bytes_per_second, self._gaps = bytes_per_second, gaps
        self._free_at = 0.0
        self._lock = threading.Lock()
        self.waited_seconds = 0.0  # for gaps

    def wait(self, count: int, bytes_per_second: float = 0.0) -> None:
        """Before so many bytes; a rate of this one copy holds beside that of all."""
        if self._gaps is not None:
            self.waited_seconds += self._gaps.wait()
        rate = min((one for one in (self.bytes_per_second, bytes_per_second) if one > 0), default=0.0)
        if not rate:
            return
        with self._lock:
            now = time.monotonic()
            begins = max(self._free_at, now)
            self._free_at = begins + count / rate
        time.sleep(begins - now)
