"""The keeper's slower hand: copies into storage, one after the other, while training goes on."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from holdfast.training.message import EncodingError
from holdfast.training.pace import Pace
from holdfast.training.vault import Copy, Vault

LOG = logging.getLogger(__name__)
WRITERS = 4  # keepers that write at the same time at most, as long as writing takes as long as it did before
STEPS_KEPT = 2


class Flushing:
    def __init__(self, folder: Path, vault: Vault, troubles: dict[str, str], pace: Pace) -> None:
        self._folder, self._vault, self._troubles, self._pace = folder, vault, troubles, pace
        self.turn = 0  # of this keeper among all
        self._own: set[int] = set()
        self.writes = 0  # that came to storage
        self._written: set[tuple[int, int, str]] = set()
        self._last_seconds = 0.0
        self._writing = threading.Lock()  # a flush and the queue may come to the same copy
        self._waiting: queue.SimpleQueue[tuple[Copy, ExitStack, Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="flushing", daemon=True).start()

    def expect(self, rank: int) -> None:
        """A rank of this node: its copies are ours to write."""
        self._own.add(rank)

    @property
    def own_ranks(self) -> frozenset[int]:
        return frozenset(self._own)

    def prepare(self) -> None:
        """Load what writing needs now and beside the work: the first step for storage should not be late for it."""
        threading.Thread(target=import_module, args=("holdfast.training.storage",), name="torch", daemon=True).start()

    def store(self, copy: Copy, written: Callable[[], None]) -> bool:
        """Queue a copy; it is not written over before it is in storage. False where it is gone already."""
        hold = ExitStack()
        if hold.enter_context(self._vault.reading(copy.rank, copy.step)) is not copy:
            hold.close()
            return False
        self._waiting.put((copy, hold, written))
        return True

    def flush(self, seconds: float) -> list[int]:
        """Write what memory holds and storage does not: the committed step, the newest, and partners' where missing."""
        until = time.monotonic() + seconds
        stored: set[int] = set()
        missing: set[int] = set()
        for copy in self._due():
            if time.monotonic() > until:
                self._troubles["storage"] = f"not everything was written within {seconds:g} s"
                break
            with self._vault.reading(copy.rank, copy.step) as still_there:
                if still_there is copy:
                    (stored if self._write(copy) else missing).add(copy.step)
        return sorted(stored - missing)

    def unsaved(self) -> int:
        """The newest step of this node's own ranks that is not in storage, -1 where there is none. It is asked every
        second and does not look at the storage itself; a flush writes partners' copies too where they are missing."""
        own = [copy for copy in self._due() if copy.rank in self._own]
        return max((copy.step for copy in own if not self._is_stored(copy)), default=-1)

    def _due(self) -> list[Copy]:
        """Own ranks' first, and of those the committed step: that one makes a whole."""
        committed = self._vault.committed
        held = self._vault.held()
        newest = {copy.rank: copy.step for copy in held}
        due = [copy for copy in held if copy.step in (committed, newest[copy.rank])]
        return sorted(due, key=lambda copy: (copy.rank not in self._own, copy.step != committed, copy.rank))

    def _work(self) -> None:
        while True:
            copy, hold, written = self._waiting.get()
            time.sleep(self.turn // WRITERS * self._last_seconds)
            self._pace.wait(copy.size)
            with hold:
                begun = time.monotonic()
                self._write(copy)
                self._last_seconds = time.monotonic() - begun
            written()

    def _is_stored(self, copy: Copy) -> bool:
        """A partner's copy is written by the partner, if it lives; one of another run is another one."""
        if copy.rank in self._own:
            return (copy.rank, copy.step, copy.attempt) in self._written
        from holdfast.training import storage

        return storage.writer(self._folder, copy.step, copy.rank) == copy.attempt

    def _write(self, copy: Copy) -> bool:
        with self._writing:
            return self._write_alone(copy)

    def _write_alone(self, copy: Copy) -> bool:
        from holdfast.training import shard, storage  # torch: only the keeper that writes pays for it

        if self._is_stored(copy):
            return True
        try:
            if copy.pages.digest(copy.size) != copy.digest:
                raise EncodingError("the copy in memory is damaged")
            storage.write(self._folder, shard.read(copy.pages.map, copy.size), copy.attempt)
            if copy.rank == 0:
                storage.prune(self._folder, STEPS_KEPT, copy.attempt)
        except (OSError, RuntimeError, EncodingError) as error:
            self._troubles[_about(copy)] = f"step {copy.step} of rank {copy.rank} is not in storage: {error}"
            LOG.warning("storage: step %d of rank %d: %s", copy.step, copy.rank, error)
            return False
        self._troubles.pop(_about(copy), None)
        self._written.add((copy.rank, copy.step, copy.attempt))
        self.writes += 1
        LOG.info("step %d of rank %d is in storage", copy.step, copy.rank)
        return True


def _about(copy: Copy) -> str:
    """What a trouble is about: that one rank's copy was written says nothing of another's."""
    return f"storage of rank {copy.rank}"
