"""Keeping the lead, or waiting for it. Asked in the writer's thread, a few times a second."""

import time
from collections.abc import Callable

from holdfast.store import Store

LEASE_SECONDS = 6.0
RENEW_SECONDS = 2.0
TRY_SECONDS = 1.0


class Lead:
    """`address` is how others reach this controller; `holder` names this process."""

    def __init__(self, holder: str, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._holder = f"{address}#{holder}"
        self._clock = clock
        self._next = 0.0
        self.epoch: int | None = None
        self.leader = ""

    def keep(self, store: Store) -> bool:
        """Renew, or try to take it; True when who leads has changed for us."""
        if self._clock() < self._next:
            return False
        before = self.epoch
        if self.epoch is not None and not store.renew(self.epoch, LEASE_SECONDS):
            self.epoch = None
        if self.epoch is None:
            self.epoch = store.lead(self._holder, LEASE_SECONDS)
        known = self.leader
        self.leader = "" if self.epoch is not None else _address(store)
        self._next = self._clock() + (TRY_SECONDS if self.epoch is None else RENEW_SECONDS)
        return self.epoch != before or self.leader != known

    def lost(self) -> None:
        self.epoch = None
        self._next = 0.0

    def resign(self, store: Store) -> None:
        if self.epoch is not None:
            store.resign(self.epoch)
            self.epoch = None


def _address(store: Store) -> str:
    found = store.current_leader()
    return found.holder.partition("#")[0] if found else ""
