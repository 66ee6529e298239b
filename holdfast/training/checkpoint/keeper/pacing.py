"""Limits the keeper's use of CPU, network and storage: lower priority than training, a rate limit, and no traffic while
the ranks of its node communicate.

A rank announces communication in one byte of shared memory. Without this byte only the rate limit applies.
"""

import math
import os
import threading
import time
from contextlib import suppress

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.next_buffer import BOARD_BYTES, WAITS

LONGEST_WAIT_SECONDS = 0.25  # most seconds that one chunk waits for a gap: a training may communicate all the time
POLL_SECONDS = 0.001
# niceness above that of training, for threads that copy, hash and encrypt: a 28th of its share of a busy processor
NICENESS = 15
LOWEST_PRIORITY = 19
# share of the time between two saves in which copies are sent: a burst would slow down the next step
SHARE_OF_INTERVAL = 0.5
REPLICA_SECONDS = 5.0  # most seconds for sending a copy: until its partner has it, it is lost with its node


def behind_training() -> None:
    """Lowers the priority of this thread below training. Threads that answer a waiting rank keep theirs."""
    thread = threading.get_native_id()
    with suppress(OSError):
        nice = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, min(nice + NICENESS, LOWEST_PRIORITY))


class Overdue:
    """Whether background work has waited for so long that it may no longer yield to training."""

    def __init__(self) -> None:
        self._due: dict[object, float] = {}

    def begin(self, work: object, wait_seconds: float = 2 * REPLICA_SECONDS) -> None:
        self._due.setdefault(work, time.monotonic() + wait_seconds)

    def end(self, work: object) -> None:
        self._due.pop(work, None)

    def now(self) -> bool:
        return min(list(self._due.values()), default=math.inf) <= time.monotonic()


class CopyBudget:
    """Time that sending a copy to its partners may take: a share of the time between two saves, divided among the
    ranks that save."""

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
        """Seconds; 0 before the first interval is known."""
        longest = min(SHARE_OF_INTERVAL * self._between.get(rank, 0.0), self.longest_seconds)
        return longest / max(len(self._between), 1)


class Gaps:
    """Gaps between the communication of the connected ranks, with one byte per rank."""

    def __init__(self) -> None:
        self._marks: dict[int, Pages] = {}

    def mark_of(self, rank: int) -> Pages:
        """Registers the byte that a rank writes: 1 while it communicates, 0 in between."""
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
        """Waits until no rank here communicates, with a limit. Returns the time waited."""
        begun = time.monotonic()
        while self.communicating():
            if time.monotonic() - begun >= LONGEST_WAIT_SECONDS:
                break
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begun


class RateLimit:
    """Limits a rate over all its users; with gaps, each chunk waits for a gap first."""

    def __init__(self, bytes_per_second: float, gaps: Gaps | None = None) -> None:
        self.bytes_per_second, self._gaps = bytes_per_second, gaps
        self._free_at = 0.0
        self._lock = threading.Lock()
        self.waited_seconds = 0.0  # waits for gaps

    def wait(self, count: int, bytes_per_second: float = 0.0) -> None:
        """Waits before sending this many bytes; a limit for this copy applies in addition to the common one."""
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
