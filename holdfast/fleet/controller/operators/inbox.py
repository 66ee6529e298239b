"""The inbox of the running controller: items from board, store and jobs, and the operators' updates."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.parts import gpus_of
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.inbox import history, states
from holdfast.fleet.inbox.incident_figures import IncidentFigures, incident_figures
from holdfast.fleet.inbox.item import Item, Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.inbox.job_items import KEPT_SECONDS as JOBS_KEPT_SECONDS
from holdfast.fleet.inbox.job_items import restarted
from holdfast.fleet.inbox.node_items import may_be_degraded, waits
from holdfast.fleet.inbox.states import BadCommand, ItemCommand, ItemView
from holdfast.model.inbox import ItemAction, ItemSnapshot
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.records import AuditEntry
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

MOST_READ = 500  # nodes whose verdicts are read for one answer
MOST_PAST = 1_000
MOST_JOBS = 1_000
HOUR = 3600.0
KEPT_SECONDS = 2.0  # simultaneous requests share one answer


class InboxService:
    def __init__(self, service: "ControllerService") -> None:
        self._service = service
        self.prices = Prices()
        self._made: tuple[float, list[ItemView]] = (float("-inf"), [])
        self.over: list[Item] = []
        """Deaths of jobs that went on, as of the last answer."""
        self.acted: dict[str, ItemSnapshot] = {}
        """Items that operators did something with, until the history has taken them."""
        self.complete = False
        """Whether everything that items are made of could be read for the last answer."""
        self._changes = 0

    def forget(self) -> None:
        """Drops the cached answer because an incident or a node changed. An answer that is being computed is dropped
        too."""
        self._changes += 1
        self._made = (float("-inf"), [])

    async def views(self) -> list[ItemView]:
        made_at, made = self._made
        changes = self._changes
        if time.monotonic() - made_at < KEPT_SECONDS:
            return made
        sources = await self._sources()
        found = await asyncio.to_thread(items, sources)
        self.over = restarted(sources)
        records = await asyncio.to_thread(self._service.store.item_records, [one.key for one in found])
        made = states.joined(found, records, clock.now())
        if changes == self._changes:
            self._made = (time.monotonic(), made)
        return made

    async def act(self, command: ItemCommand, caller: Caller, ask: Callable[[Any], Awaitable[Any]]) -> ItemView:
        """Acts only on an existing item, so that a mistyped key is an error. One that is over takes comments."""
        try:
            states.check(command)
        except BadCommand as error:
            raise Problem(400, str(error)) from None
        known = await self._known(command.item, command.action)
        snapshot = history.snapshot_of(known) if known.ended_at is None else None
        await ask(partial(_act, command, caller, snapshot))
        if snapshot is not None:
            self.acted[command.item] = snapshot
        self.forget()
        changed = await self._known(command.item, command.action)
        self._service.board.publish("inbox", changed)
        return changed

    async def _known(self, key: str, action: ItemAction) -> ItemView:
        found = next((one for one in await self.views() if one.key == key), None)
        if found is not None:
            return found
        over = await self._service.past_item(key)
        if over is not None and action is ItemAction.COMMENT:
            return over
        what = "it is over and takes only comments" if over is not None else "GET /v1/inbox lists the open items"
        raise Problem(404, f"no item of the inbox is {key[:120]!r}: {what}")

    async def past(self, hours: float) -> list[ItemView]:
        """Items that ended since then, newest first."""
        since = clock.now() - hours * HOUR
        records = await asyncio.to_thread(self._service.store.newest_items, since, MOST_PAST)
        return [one for one in history.past(records) if (one.ended_at or 0.0) >= since]  # a comment may come later

    async def past_item(self, key: str) -> ItemView | None:
        records = await asyncio.to_thread(self._service.store.item_records, [key])
        return history.past_item(records[key]) if key in records else None

    async def _sources(self) -> Sources:
        service, board, now = self._service, self._service.board, clock.now()
        nodes = [life for name in board.views if (life := board.life(name)) is not None]
        degraded = [node.name for node in nodes if may_be_degraded(node, board.views[node.name].health)]
        read = [*(node.name for node in nodes if waits(node, board.policy)), *degraded][:MOST_READ]
        verdicts = await asyncio.to_thread(service.store.verdicts_of, read)
        incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
        jobs = await asyncio.to_thread(service.store.jobs, None, now - JOBS_KEPT_SECONDS, MOST_JOBS)
        self.complete = board.read and board.leading
        try:
            trainings = (await service.trainings()).jobs if board.leading else ()
        except Problem:  # the lead changed meanwhile
            trainings, self.complete = (), False
        planned = (await service.planned()).planned if service.seams is not None else ()
        return Sources(
            nodes=nodes,
            verdicts=verdicts,
            degraded=degraded,
            incidents=incidents,
            trainings=[one for one in trainings if one.last_report_at >= now - JOBS_KEPT_SECONDS],
            jobs=jobs,
            planned=planned,
            policy=board.policy,
            prices=self.prices,
            gpus=self.gpus,
            now=now,
            time_factor=board.time_factor,
        )

    def figures(self, incident: Incident) -> IncidentFigures:
        return incident_figures(incident, self.gpus, self.prices, clock.now(), self._service.board.time_factor)

    def gpus(self, node: str) -> int | None:
        """Number of GPUs in the last report of the agent; None if there is none."""
        if (last := self._service.last_digest(node)) is None:
            return None
        return len(gpus_of([last])) or None


def _act(
    command: ItemCommand, caller: Caller, snapshot: ItemSnapshot | None, transaction: Transaction, fresh: Sequence[bool]
) -> None:
    """Stores an update. `snapshot`: the item's current text; None for a past item, whose last snapshot is stored."""
    known = transaction.store.item_records_in_batch([command.item]).get(command.item)
    record, note = states.apply(known, command, caller.name, transaction.now)
    transaction.store.save_item(replace(record, snapshot=snapshot) if snapshot is not None else record, note)
    transaction.audit.append(
        AuditEntry(
            at=transaction.now,
            who=caller.name,
            role=caller.role.value,
            verb=f"inbox {command.action.value}",
            target=command.item[:200],
            outcome="done",
            reason=note.text[:500],
        )
    )
