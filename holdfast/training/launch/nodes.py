"""State that the launchers of a job share: the generation of the process group, and whether the run is over.

The launcher of node 0 holds a store for the launchers, and one for the ranks of each generation. Closing a store ends
all waits in it, so that no rank stays in a generation that cannot be completed.
"""

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from holdfast.runtime.listener import listen

POLL_SECONDS = 0.2
SILENT_SECONDS = 15.0  # without a heartbeat of another node's launcher
JOIN_SECONDS = 600.0
ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Generation:
    number: int
    port: int  # port of the store for its ranks


class NodeLost(Exception):
    """In-process recovery is not possible and the run must be restarted; the message says why."""


@dataclass(slots=True)
class LauncherNodes:
    """This launcher's connection to those of the other nodes. All calls except `join` return at once."""

    count: int
    rank: int
    host: str
    port: int
    _store: Any = None
    _ranks_store: Any = None  # store of the current generation; only node 0 has it
    _beats: dict[int, tuple[int, float]] = field(default_factory=dict)
    _polled: float = 0.0
    _number: int = 0

    def join(self) -> None:
        """Waits for the other launchers."""
        from torch._C._distributed_c10d import TCPStore

        leads = self.rank == 0
        timeout = timedelta(seconds=JOIN_SECONDS)
        if leads:
            self._store = self._new_store(self.port, timeout)
        else:
            self._store = TCPStore(self.host, self.port, None, False, timeout, wait_for_workers=False)
        self.port = self._store.port
        self._store.set_timeout(timedelta(seconds=ANSWER_SECONDS))
        if leads:
            self._announce(1)

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def generation(self) -> Generation | None:
        """The newest generation, None before the first. Node 0 starts one after a rank was lost."""
        self._beat()
        if self._store.check(["over"]):
            raise NodeLost(self._store.get("over").decode(errors="replace"))
        if self.leads and self._store.add("lost", 0) >= self._number:
            self._announce(self._store.add("lost", 0) + 1)
        if not self._store.check(["generation"]):
            return None
        number, port = self._store.get("generation").decode().split()
        return Generation(int(number), int(port))

    def lose(self, generation: int) -> None:
        """Reports a lost rank of this generation. Several losses at the same time make one new generation."""
        if self._store.add("lost", 0) < generation:
            self._store.add("lost", 1)

    def finish(self) -> None:
        """Reports that a rank of this node completed."""
        self._store.add("finished", 1)

    def finished(self) -> int:
        """Number of completed ranks on all nodes, which cannot take part in another generation."""
        return int(self._store.add("finished", 0))

    def give_up(self, why: str) -> None:
        self._store.set("over", why)

    def _new_store(self, port: int, timeout: timedelta) -> Any:
        """Creates a store on the interface of the job only, because a store of PyTorch has no authentication."""
        from torch._C._distributed_c10d import TCPStore

        listener = listen(self.host, port)
        port = listener.getsockname()[1]
        return TCPStore(
            self.host, port, None, True, timeout, wait_for_workers=False, master_listen_fd=listener.detach()
        )

    def _announce(self, number: int) -> None:
        self._ranks_store = None  # closes the previous one
        self._ranks_store = self._new_store(0, timedelta(seconds=JOIN_SECONDS))
        self._number = number
        self._store.set("generation", f"{number} {self._ranks_store.port}")

    def _beat(self) -> None:
        now = time.monotonic()
        if self.count == 1 or now - self._polled < POLL_SECONDS:
            return
        self._polled = now
        self._store.add(f"beat/{self.rank}", 1)
        if not self.leads:
            return
        for node in range(1, self.count):
            beats = self._store.add(f"beat/{node}", 0)
            known, since = self._beats.get(node, (0, now))
            self._beats[node] = (beats, since if beats == known else now)
            if known and beats == known and now - since > SILENT_SECONDS:
                self.give_up(f"the launcher of node {node} is silent for {now - since:.0f} s")
