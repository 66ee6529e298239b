"""Keeps the history of the inbox: each item is stored when it appears, and again when it is over."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.inbox.history import INCIDENT, ItemChange, Known, merged
from holdfast.fleet.store import StoreError
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

log = logging.getLogger("holdfast.fleet.controller")
EVERY_SECONDS = 5.0
KNOWN_SECONDS = 30 * 86_400.0
MOST_KNOWN = 10_000


class InboxHistory:
    def __init__(self, service: "ControllerService", ask: Callable[[Any], Awaitable[Any]]) -> None:
        self._service, self._ask = service, ask
        self._known: Known | None = None
        self._one_round = asyncio.Lock()

    async def run(self) -> None:
        """Runs until cancelled. Only the leader writes; a new leader starts from the stored items."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            if not self._service.board.leading:
                self._known = None
                continue
            await self.round()

    async def settle(self, shown: set[str]) -> None:
        """Stores the items that ended since the last round, so that each item is always either open or over."""
        if self._known is None or (self._known.open.keys() | self._service.items.acted.keys()) - shown:
            await self.round()

    async def round(self) -> None:
        async with self._one_round:
            try:
                await self._round()
            except (Problem, StoreError) as error:
                log.warning("the history of the inbox could not be stored: %s", error)
                self._known = None

    async def _round(self) -> None:
        service, now = self._service, clock.now()
        if self._known is None:
            records = await asyncio.to_thread(service.store.newest_items, now - KNOWN_SECONDS, MOST_KNOWN)
            self._known = Known.of(records)
        self._known.open.update(service.items.acted)  # an item may come and go between two rounds
        service.items.acted.clear()
        shown = await service.inbox()
        if not service.items.complete:  # an item that could not be read has not ended
            return
        changes = self._known.changes(shown, service.items.over, now)
        if changes:
            changes = await asyncio.to_thread(lambda: [self._with_figures(one) for one in changes])
            await self._ask(partial(_store, changes))
            self._known.stored(changes)
        self._known.seen(shown)

    def _with_figures(self, change: ItemChange) -> ItemChange:
        """Adds start, end, cost and last sentence of a closed incident to its item."""
        if change.ended_at is None or change.snapshot is None or not change.key.startswith(INCIDENT):
            return change
        incident = self._service.store.incident(change.key.removeprefix(INCIDENT))
        if incident is None or incident.closed is None:
            return change
        figures = self._service.items.figures(incident)
        lasted, cost = figures.lasted_seconds, figures.cost
        reason, _, closing = incident.reason.rpartition("; ")  # the last part is the reason of its end
        account = incident.account
        detail = (account.sentence if account is not None else "") or reason or incident.reason
        snapshot = replace(change.snapshot, since=figures.began, lasted_seconds=lasted, cost_so_far=cost, detail=detail)
        outcome = closing or "the incident closed"
        return replace(change, snapshot=snapshot, ended_at=incident.closed, outcome=outcome)


def _store(changes: Sequence[ItemChange], transaction: Transaction, fresh: Sequence[bool]) -> None:
    keys = [one.key for one in changes]
    records = transaction.store.item_records_in_batch(keys)
    kept = [merged(records.get(one.key), one, transaction.now) for one in changes]
    transaction.store.keep_items(keys, kept)
