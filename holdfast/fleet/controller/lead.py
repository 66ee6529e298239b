"""Leader election: holds or waits for the lease, from the writer's thread."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from holdfast.fleet.store import StaleEpoch, Store, StoreError
from holdfast.model.records import Leader

LEASE_SECONDS = 6.0
RENEW_SECONDS = 2.0
TRY_SECONDS = 1.0
SILENT_SECONDS = RENEW_SECONDS + TRY_SECONDS  # a leader that did not renew for this long is probably dead
WITHOUT_LEASE_SECONDS, YIELD_SECONDS = 60.0, 5.0


class Lease(Protocol):
    """A lock outside the store. A controller must hold it to run actions."""

    @property
    def held(self) -> bool: ...

    taken: bool
    """Another controller holds it."""


class Lead:
    """`address` is how others reach this controller; `holder` names this process."""

    def __init__(
        self, holder: str, address: str, clock: Callable[[], float] | None = None, lease: Lease | None = None
    ) -> None:
        self._holder = f"{address}#{holder}"
        self._clock = clock or _awake_or_not
        self._lease = lease
        self._without_lease_since = self._clock()
        self._next = 0.0
        self._until = 0.0
        # the other leader's lease, and since when it is unchanged
        self._renewed: tuple[Leader | None, float] = (None, 0.0)
        self.epoch: int | None = None
        self.leader = ""

    def keep(self, store: Store) -> bool:
        """Renews the lease or tries to take it. Returns True if this controller gained or lost the lead."""
        if self._clock() < self._next:
            return False
        before, asked, may_lead = self.epoch, self._clock(), self._may_lead()
        if not may_lead:
            self.resign(store)
        if self.epoch is not None and not store.renew(self.epoch, LEASE_SECONDS):
            self.epoch = None
        if self.epoch is None and may_lead:
            self.epoch = store.lead(self._holder, LEASE_SECONDS)
        self._until = asked + LEASE_SECONDS
        known = self.leader
        self.leader = "" if self.epoch is not None else self._other(store)
        self._next = self._clock() + (TRY_SECONDS if self.epoch is None else RENEW_SECONDS)
        return self.epoch != before or self.leader != known

    def _other(self, store: Store) -> str:
        """The address of the leader. A leader that has probably died is not named: clients could not connect to it
        and would all return here while this controller takes over."""
        found, now = store.current_leader(), self._clock()
        if found != self._renewed[0]:
            self._renewed = (found, now)
        silent = now - self._renewed[1] > SILENT_SECONDS
        return "" if found is None or silent else found.holder.partition("#")[0]

    def _may_lead(self) -> bool:
        """A controller may lead if it holds the Lease. While the lease server does not answer, it may lead without, so
        that reports are stored; now and then it yields to a controller that holds the Lease."""
        if self._lease is None:
            return True
        if self._lease.held:
            self._without_lease_since = self._clock()
            return True
        without = self._clock() - self._without_lease_since
        return not self._lease.taken and without % WITHOUT_LEASE_SECONDS >= YIELD_SECONDS

    @contextmanager
    def renewed(self, store: Store) -> Iterator[None]:
        """Renews the lease in its own thread while the block runs, because reading a large fleet takes longer than a
        lease. The block must not write. Raises StaleEpoch after the block if the lead was lost meanwhile."""
        epoch, over = self.epoch, threading.Event()
        if epoch is None:
            yield
            return
        thread = threading.Thread(target=self._renew_until, args=(store, epoch, over), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        if self.epoch != epoch:
            raise StaleEpoch(epoch, None)

    def _renew_until(self, store: Store, epoch: int, over: threading.Event) -> None:
        while not over.wait(RENEW_SECONDS / 2):
            asked = self._clock()
            try:
                if not store.renew(epoch, LEASE_SECONDS):
                    self.lost()
                    return
            except StoreError:
                continue  # the next commit shows whether the lease expired
            self._until, self._next = asked + LEASE_SECONDS, asked + RENEW_SECONDS

    @property
    def sure(self) -> bool:
        """Whether no other controller can lead at this moment. Any thread asks this before an action, because a process
        that was paused continues in the middle of its work and must stop there."""
        held = self._lease is None or self._lease.held
        return held and self.epoch is not None and self._clock() < self._until

    def lost(self) -> None:
        self.epoch = None
        self._next = 0.0

    def resign(self, store: Store) -> None:
        if self.epoch is not None:
            store.resign(self.epoch)
            self.epoch = None


def _awake_or_not() -> float:
    """A clock that continues while the machine is suspended, unlike the monotonic clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
