"""Copies that a keeper holds of its own ranks and of its partners, in reused buffers.

Copying into a page that was touched before is ten times as fast as into a new one, so buffers are kept while the job
lives. Each rank has at most three: the last committed step, one being sent, one being written.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from holdfast.training.checkpoint.keeper.memory import Pages

BUFFERS_PER_RANK = 3


class Full(OSError):
    """There is no room, and nothing that may be dropped."""


@dataclass(eq=False, slots=True)
class Copy:
    """One rank's shard of one step. `attempt` distinguishes the runs of a job: steps of two runs are never combined."""

    rank: int
    step: int
    attempt: str
    world: int
    size: int
    digest: str
    pages: Pages
    readers: int = field(default=0)
    wanted: bool = field(default=False)  # for storage: dropped last
    marks: tuple[int, ...] = field(default=())  # a hash of each part, if it was computed with the digest

    def row(self) -> list[object]:
        return [self.rank, self.step, self.attempt, self.world, self.size, self.digest]


class ShardStore:
    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.committed = -1
        self._loaded = -1  # the step this run started from, until a newer one is committed
        self._behind = False  # a wait timed out: until the next commit no save waits again
        self._copies: dict[tuple[int, int], Copy] = {}
        self._spare: dict[int, list[Pages]] = {}
        self._lent: dict[int, list[Pages]] = {}
        self._outlived: dict[int, list[Pages]] = {}  # being read, although their copy was replaced
        self._safe: dict[int, frozenset[int]] = {}  # steps that count as safe and may be committed at any time
        self._changed = threading.Condition()
        self.on_room: Callable[[], None] = _no_one_waits  # called when a buffer may have become free

    def reserve(self, rank: int, size: int, timeout_seconds: float = 0.0) -> Pages:
        """A buffer for this rank's next shard; waits a little if all copies are still being sent.

        Copies that are not committed yet may be the next step that all ranks have. They are dropped last, and only
        after waiting for their commit failed.
        """
        until = time.monotonic() + timeout_seconds
        with self._changed:
            while True:
                left = until - time.monotonic()
                hurry = self._behind or left <= 0
                pages = self._find_room(rank, size, hurry)
                if pages is not None:
                    self._lent.setdefault(rank, []).append(pages)
                    return pages
                if hurry:
                    self._behind = self._behind or timeout_seconds > 0
                    raise Full(
                        f"the {BUFFERS_PER_RANK} buffers of rank {rank} are all in use: copying is behind saving"
                    )
                self._changed.wait(left)

    def add(self, copy: Copy) -> None:
        """Adds the copy in this filled buffer, which now answers requests for its rank and step."""
        with self._changed:
            self._take_back(copy.rank, copy.pages)
            self._let_go(self._copies.pop((copy.rank, copy.step), None))
            self._copies[copy.rank, copy.step] = copy
            self._changed.notify_all()

    def give_up(self, rank: int, pages: Pages) -> None:
        """Returns a buffer that was not filled."""
        with self._changed:
            self._take_back(rank, pages)
            self._spare.setdefault(rank, []).append(pages)
            self._changed.notify_all()

    def commit(self, step: int) -> None:
        """Commits a step that is safe everywhere: older ones may be overwritten."""
        with self._changed:
            self.committed = max(self.committed, step)
            self._loaded = -1 if step > self._loaded else self._loaded
            self._behind = False
            self._drop_older()
            self._changed.notify_all()
        self.on_room()

    def prepare(self, rank: int, size: int) -> bool:
        """Creates the buffer for the next save and returns whether it did.

        New pages take ten times as long as the copy. They are created outside of the lock, so that nothing else waits.
        """
        with self._changed:
            if not self._lacks(rank, size):
                return False
        try:
            pages = Pages.new(f"rank-{rank}", _roomy(size))
        except OSError:  # the save that needs it reports the error
            return False
        with self._changed:
            if not self._lacks(rank, size):  # a save was faster
                pages.close()
                return False
            self._spare.setdefault(rank, []).append(pages)
            self._changed.notify_all()
            return True

    def _lacks(self, rank: int, size: int) -> bool:
        """Whether the rank has no buffer besides its newest copy, and there is enough room. Partners' ranks do not
        count."""
        buffers = self._buffers(rank)
        used = sum(pages.size for other in self._ranks() for pages in self._buffers(other))
        roomy = sum(pages.size >= size for pages in buffers)
        return roomy < 2 and len(buffers) < BUFFERS_PER_RANK and used + 3 * _roomy(size) <= self.budget_bytes

    def lend_spare(self, rank: int, size: int, known: Iterable[int]) -> Pages | None:
        """A free buffer of this size that the rank has mapped; nothing is dropped or allocated for it."""
        with self._changed:
            spare = self._spare.get(rank, [])
            pages = next((one for one in spare if one.size >= size and one.number in known), None)
            if pages is not None:
                spare.remove(pages)
                self._lent.setdefault(rank, []).append(pages)
            return pages

    def on_the_way(self, rank: int) -> bool:
        """Whether a copy of this rank is not committed yet."""
        with self._changed:
            return any(owner == rank and step > self.committed for owner, step in self._copies)

    def want(self, copy: Copy, wanted: bool = True) -> None:
        """Marks a copy for storage: it is kept when newer ones are committed, as room allows."""
        with self._changed:
            copy.wanted = wanted
            self._drop_older()
            self._changed.notify_all()
        self.on_room()

    def has(self, copy: Copy) -> bool:
        with self._changed:
            return self._copies.get((copy.rank, copy.step)) is copy

    def protect(self, rank: int, step: int) -> None:
        """Marks a copy as safe: it is not overwritten until the mark is removed."""
        with self._changed:
            self._safe[rank] = frozenset(one for one in (*self._safe.get(rank, ()), step) if one > self.committed)

    def unprotect(self, rank: int, step: int) -> None:
        with self._changed:
            self._safe[rank] = self._safe.get(rank, frozenset()) - {step}

    def protect_only(self, rank: int, steps: Iterable[int]) -> None:
        with self._changed:
            self._safe[rank] = frozenset(steps)

    def protected(self, rank: int) -> list[int]:
        with self._changed:
            return sorted(step for step in self._safe.get(rank, ()) if step > self.committed)

    def rewind(self, step: int) -> None:
        """Drops copies after this step, from which the job starts again: they belong to a run that has ended."""
        with self._changed:
            self.committed = min(self.committed, step)
            self._loaded = step
            self._behind = False
            self._safe.clear()
            for key in [key for key in self._copies if key[1] > step]:
                self._let_go(self._copies.pop(key))
            self._changed.notify_all()

    def drop(self, rank: int, step: int) -> None:
        with self._changed:
            self._let_go(self._copies.pop((rank, step), None))

    def trim(self, rank: int) -> None:
        """Frees the buffers of a rank that will save nothing here."""
        with self._changed:
            for pages in self._spare.pop(rank, []):
                pages.close()

    @contextmanager
    def reading(self, rank: int, step: int) -> Iterator[Copy | None]:
        """The copy, protected from being overwritten until the end of the block."""
        with self._changed:
            copy = self._copies.get((rank, step))
            if copy:
                copy.readers += 1
        try:
            yield copy
        finally:
            if copy:
                with self._changed:
                    copy.readers -= 1
                    outlived = self._outlived.get(rank, [])
                    if not copy.readers and copy.pages in outlived:
                        outlived.remove(copy.pages)
                        self._spare.setdefault(rank, []).append(copy.pages)
                    self._changed.notify_all()

    def held(self) -> list[Copy]:
        with self._changed:
            return sorted(self._copies.values(), key=lambda copy: (copy.rank, copy.step))

    def used_bytes(self) -> int:
        with self._changed:
            return sum(pages.size for rank in self._ranks() for pages in self._buffers(rank))

    def _find_room(self, rank: int, size: int, hurry: bool) -> Pages | None:
        spare = self._spare.setdefault(rank, [])
        for pages in [pages for pages in spare if pages.size < size]:
            spare.remove(pages)
            pages.close()
        if spare:
            return spare.pop()
        used = sum(pages.size for other in self._ranks() for pages in self._buffers(other))
        if len(self._buffers(rank)) < BUFFERS_PER_RANK and used + size <= self.budget_bytes:
            roomy = _roomy(size)
            return Pages.new(f"rank-{rank}", roomy if used + roomy <= self.budget_bytes else size)
        if self._evict(rank, hurry):
            return self._find_room(rank, size, hurry)
        if not self._buffers(rank):
            raise Full(f"{size} bytes for rank {rank} do not fit: {used} of {self.budget_bytes} are in use")
        return None

    def _evict(self, rank: int, hurry: bool) -> bool:
        """Drops copies older than the committed step; if that is not enough, the oldest one that is neither committed,
        newest, nor safe.

        Copies for storage are dropped last. The step this run started from stays too, because it may be the only one,
        until the committed step, which survives the loss of a node, is here as well.
        """
        copies = sorted((copy for copy in self._copies.values() if copy.rank == rank), key=lambda copy: copy.step)
        bound = {self.committed, *self._safe.get(rank, ())}
        if all(copy.step != self.committed for copy in copies):
            bound.add(self._loaded)
        free = [copy for copy in copies[:-1] if copy.step not in bound and not copy.readers]
        for copy in sorted(free, key=lambda copy: (copy.wanted, copy.step)):
            if hurry or (copy.step < self.committed and not copy.wanted):
                self._behind = self._behind or copy.step > self.committed
                self._let_go(self._copies.pop((rank, copy.step)))
                return True
        return False

    def _drop_older(self) -> None:
        for key, copy in list(self._copies.items()):
            if copy.step < self.committed and not copy.wanted:
                self._let_go(self._copies.pop(key))

    def _let_go(self, copy: Copy | None) -> None:
        if copy:
            place = self._outlived if copy.readers else self._spare
            place.setdefault(copy.rank, []).append(copy.pages)

    def _take_back(self, rank: int, pages: Pages) -> None:
        lent = self._lent.get(rank, [])
        if pages in lent:
            lent.remove(pages)

    def _ranks(self) -> set[int]:
        return {rank for rank, _ in self._copies} | set(self._spare) | set(self._lent) | set(self._outlived)

    def _buffers(self, rank: int) -> list[Pages]:
        copies = [copy.pages for (owner, _), copy in self._copies.items() if owner == rank]
        return copies + [pages for pool in (self._spare, self._lent, self._outlived) for pages in pool.get(rank, [])]


def _no_one_waits() -> None:
    """Callback of a store without ranks."""


def _roomy(size: int) -> int:
    """Size with a reserve of a 32nd, so that a state that grows by some bytes at every step fits into its buffer."""
    return size + size // 32
