"""Writes copies to storage in the background while training continues."""

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
WRITERS = 4  # keepers that write at the same time, if each write takes as long as the last one
STEPS_KEPT = 2

Tried = Callable[[bool], None]  # callback; its argument says whether the copy still existed


class Flushing:
    def __init__(
        self,
        folder: Path,
        store: ShardStore,
        troubles: dict[str, str],
        rate_limit: RateLimit,
        place: str = "",  # storage folder, if it is not the job's folder
        keep: int = STEPS_KEPT,
        keep_every: int = 0,
    ) -> None:
        self._folder, self._store, self._troubles, self._rate_limit = folder, store, troubles, rate_limit
        self.place, self._keep, self._keep_every = place or str(folder), keep, keep_every
        self.order = 0  # number of this keeper among all
        self.overdue = Overdue()
        self._own: set[int] = set()
        self.writes = 0  # steps that reached storage
        self._written: set[tuple[int, int, str]] = set()
        self._attempt, self._loaded = "", -1
        self._last_seconds = 0.0
        self._writing = threading.Lock()  # a flush and the queue may write the same copy
        self._waiting: queue.SimpleQueue[tuple[Copy, Tried]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="flushing", daemon=True).start()

    def expect(self, rank: int) -> None:
        """Registers a rank of this node, whose copies this keeper writes."""
        self._own.add(rank)

    def begin(self, attempt: str, loaded: int) -> None:
        """Starts a new run from the step that was loaded."""
        self._attempt, self._loaded = attempt, loaded

    @property
    def own_ranks(self) -> frozenset[int]:
        return frozenset(self._own)

    def prepare(self) -> None:
        """Loads the modules for writing in advance, so that the first step for storage is not late."""
        self.overdue.begin("torch", 0.0)  # once, and before any step is complete in storage
        threading.Thread(target=self._load_torch, name="torch", daemon=True).start()

    def _load_torch(self) -> None:
        behind_training()
        import_module("holdfast.training.checkpoint.storage.storage")
        self.overdue.end("torch")

    def store(self, copy: Copy, tried: Tried) -> bool:
        """Queues a copy; returns False if it no longer exists.

        A copy is protected from being overwritten only while it is written. So storage that hangs blocks one buffer,
        not all.
        """
        if not self._store.has(copy):
            return False
        self.overdue.begin(copy)
        self._waiting.put((copy, tried))
        return True

    def flush(self, seconds: float) -> list[int]:
        """Writes all copies in memory that storage lacks: the committed step, the newest, and missing ones of partners.

        Storage may hang, so this runs on a thread of its own, and the caller waits at most as long as requested.
        """
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
        """The newest step of this node's own ranks that is not in storage; -1 without one.

        It is called every second and does not read storage. A flush also writes missing copies of partners.
        """
        own = [copy for copy in self._due() if copy.rank in self._own]
        return max((copy.step for copy in own if not self._is_stored(copy)), default=-1)

    def _due(self) -> list[Copy]:
        """Copies to write: own ranks' first, of these the committed step first, because it is complete."""
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
        """Whether storage has the copy. A live partner writes its own copies; a copy of another run is a different
        one."""
        if copy.rank in self._own:
            return (copy.rank, copy.step, copy.attempt) in self._written
        from holdfast.training.checkpoint.storage import storage

        return storage.writer(self.place, copy.step, copy.rank) == copy.attempt

    def _write(self, copy: Copy) -> bool | None:
        """Whether the copy is in storage now; None if it no longer existed. The caller holds the lock."""
        with self._store.reading(copy.rank, copy.step) as still_there:
            if still_there is not copy:
                return None
            try:
                return self._is_stored(copy) or self._write_held(copy)
            except (OSError, RuntimeError, EncodingError) as error:
                self._log_missing(copy, str(error))
            except Exception as error:  # last resort: the writing threads must survive to write the next copy
                LOG.exception("storage: unexpected error")
                self._log_missing(copy, repr(error))
            return False

    def _log_missing(self, copy: Copy, why: str) -> None:
        self._troubles[_about(copy)] = f"step {copy.step} of rank {copy.rank} is not in storage: {why}"
        LOG.warning("storage: step %d of rank %d: %s", copy.step, copy.rank, why)

    def _write_held(self, copy: Copy) -> bool:
        from holdfast.training.checkpoint.format import shard
        from holdfast.training.checkpoint.storage import storage  # imports torch: only the keeper that writes needs it

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
    """Key of a problem, per rank: a success for one rank says nothing about another."""
    return f"storage of rank {copy.rank}"
