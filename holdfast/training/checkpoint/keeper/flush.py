"""Writes copies to storage in the background while training goes on."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.keeper.pacing import Overdue, RateLimit, behind_training
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore

LOG = logging.getLogger(__name__)
WRITERS = 4  # keepers that write at the same time at most, as long as writing takes as long as it did before
STEPS_KEPT = 2

Tried = Callable[[bool], None]  # called with whether the copy was still there to be written


class Flushing:
    def __init__(
        self,
        folder: Path,
        store: ShardStore,
        troubles: dict[str, str],
        rate_limit: RateLimit,
        place: str = "",  # where steps are stored, if not in the job's folder
        keep: int = STEPS_KEPT,
        keep_every: int = 0,
    ) -> None:
        self._folder, self._store, self._troubles, self._rate_limit = folder, store, troubles, rate_limit
        self.place, self._keep, self._keep_every = place or str(folder), keep, keep_every
        self.order = 0  # of this keeper among all
        self.overdue = Overdue()
        self._own: set[int] = set()
        self.writes = 0  # that came to storage
        self._written: set[tuple[int, int, str]] = set()
        self._attempt, self._loaded = "", -1
        self._last_seconds = 0.0
        self._writing = threading.Lock()  # a flush and the queue may come to the same copy
        self._waiting: queue.SimpleQueue[tuple[Copy, Tried]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="flushing", daemon=True).start()

    def expect(self, rank: int) -> None:
        """A rank of this node: its copies are ours to write."""
        self._own.add(rank)

    def begin(self, attempt: str, loaded: int) -> None:
        """A new run, and the step it was loaded from."""
        self._attempt, self._loaded = attempt, loaded

    @property
    def own_ranks(self) -> frozenset[int]:
        return frozenset(self._own)

    def prepare(self) -> None:
        """Load what writing needs now and beside the work: the first step for storage should not be late for it."""
        self.overdue.begin("torch", 0.0)  # once, and no step is complete in storage before
        threading.Thread(target=self._load_torch, name="torch", daemon=True).start()

    def _load_torch(self) -> None:
        behind_training()
        import_module("holdfast.training.checkpoint.storage.storage")
        self.overdue.end("torch")

    def store(self, copy: Copy, tried: Tried) -> bool:
        """Queue a copy; False where it is gone already. It is kept from being written over only while it is written:
        storage that hangs must not take one buffer after the other from the training."""
        if not self._store.has(copy):
            return False
        self.overdue.begin(copy)
        self._waiting.put((copy, tried))
        return True

    def flush(self, seconds: float) -> list[int]:
        """Write what memory holds and storage does not: the committed step, the newest, and partners' where missing.
        Storage may hang in the midst of it, so it is a thread of its own that is waited for no longer than asked."""
        until = time.monotonic() + seconds
        due = self._due()
        done: dict[Copy, bool] = {}
        self._troubles.pop("storage", None)
        writer = threading.Thread(target=self._flush, args=(due, done, until), name="flush", daemon=True)
        writer.start()
        writer.join(min(seconds, threading.TIMEOUT_MAX))
        results = done.copy()
        if len(results) < len(due):
            self._troubles["storage"] = f"not everything was written within {seconds:g} s"
        missing = {copy.step for copy in due if not results.get(copy, False)}
        return sorted({copy.step for copy in results} - missing)

    def _flush(self, due: list[Copy], done: dict[Copy, bool], until: float) -> None:
        for copy in due:
            left = until - time.monotonic()
            if left <= 0 or not self._writing.acquire(timeout=min(left, threading.TIMEOUT_MAX)):
                return
            try:
                done[copy] = bool(self._write(copy))
            finally:
                self._writing.release()

    def unsaved(self) -> int:
        """The newest step of this node's own ranks that is not in storage, -1 where there is none. It is asked every
        second and does not look at the storage itself; a flush writes partners' copies too where they are missing."""
        own = [copy for copy in self._due() if copy.rank in self._own]
        return max((copy.step for copy in own if not self._is_stored(copy)), default=-1)

    def _due(self) -> list[Copy]:
        """Own ranks' first, and of those the committed step: that one makes a whole."""
        committed = self._store.committed
        held = self._store.held()
        newest = {copy.rank: copy.step for copy in held}
        due = [copy for copy in held if copy.step in (committed, newest[copy.rank])]
        return sorted(due, key=lambda copy: (copy.rank not in self._own, copy.step != committed, copy.rank))

    def _work(self) -> None:
        behind_training()
        while True:
            copy, tried = self._waiting.get()
            time.sleep(self.order // WRITERS * self._last_seconds)
            self._rate_limit.wait(copy.size)
            with self._writing:
                begun = time.monotonic()
                wrote = self._write(copy)
                self._last_seconds = time.monotonic() - begun
            self.overdue.end(copy)
            tried(wrote is not None)

    def _is_stored(self, copy: Copy) -> bool:
        """A partner's copy is written by the partner, if it lives; one of another run is another one."""
        if copy.rank in self._own:
            return (copy.rank, copy.step, copy.attempt) in self._written
        from holdfast.training.checkpoint.storage import storage

        return storage.writer(self.place, copy.step, copy.rank) == copy.attempt

    def _write(self, copy: Copy) -> bool | None:
        """Whether it is in storage now; None where it was gone before. Whoever calls has the lock."""
        with self._store.reading(copy.rank, copy.step) as still_there:
            if still_there is not copy:
                return None
            try:
                return self._is_stored(copy) or self._write_held(copy)
            except (OSError, RuntimeError, EncodingError) as error:
                self._log_missing(copy, str(error))
            except Exception as error:  # the last guard of the threads that write: they must live to write the next
                LOG.exception("storage: not foreseen")
                self._log_missing(copy, repr(error))
            return False

    def _log_missing(self, copy: Copy, why: str) -> None:
        self._troubles[_about(copy)] = f"step {copy.step} of rank {copy.rank} is not in storage: {why}"
        LOG.warning("storage: step %d of rank %d: %s", copy.step, copy.rank, why)

    def _write_held(self, copy: Copy) -> bool:
        from holdfast.training.checkpoint.format import shard
        from holdfast.training.checkpoint.storage import storage  # torch: only the keeper that writes pays for it

        if copy.pages.digest(copy.size) != copy.digest:
            raise EncodingError("the copy in memory is damaged")
        storage.write(self.place, shard.read(copy.pages.map, copy.size), copy.attempt)
        if copy.rank == 0 and copy.attempt == self._attempt:
            storage.prune(self.place, self._keep, copy.attempt, self._loaded, self._keep_every, self._folder)
        self._troubles.pop(_about(copy), None)
        self._written.add((copy.rank, copy.step, copy.attempt))
        self.writes += 1
        LOG.info("step %d of rank %d is in storage", copy.step, copy.rank)
        return True


def _about(copy: Copy) -> str:
    """What a trouble is about: that one rank's copy was written says nothing of another's."""
    return f"storage of rank {copy.rank}"
