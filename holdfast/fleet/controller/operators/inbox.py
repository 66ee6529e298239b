"""The inbox of the running controller: items from board, store and jobs, and the operators' updates."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.parts import gpus_of
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.inbox import states
from holdfast.fleet.inbox.incident_figures import IncidentFigures, incident_figures
from holdfast.fleet.inbox.items import Sources, items, waits
from holdfast.fleet.inbox.states import BadCommand, ItemCommand, ItemView
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.records import AuditEntry
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

MOST_WAITING = 500  # nodes whose verdicts are read for one answer
MOST_JOBS = 1_000
JOB_DIED_SECONDS = 86_400.0  # a dead job that no one resolves leaves the inbox after this
KEPT_SECONDS = 2.0  # several who look at once share one answer


class InboxService:
    def __init__(self, service: "ControllerService") -> None:
        self._service = service
        self.prices = Prices()
        self._made: tuple[float, list[ItemView]] = (float("-inf"), [])
        self._changes = 0

    def forget(self) -> None:
        """An incident or a node changed: who asks from now on gets a new answer, not one that is being made."""
        self._changes += 1
        self._made = (float("-inf"), [])

    async def views(self) -> list[ItemView]:
        made_at, made = self._made
        changes = self._changes
        if time.monotonic() - made_at < KEPT_SECONDS:
            return made
        sources = await self._sources()
        found = await asyncio.to_thread(items, sources)
        records = await asyncio.to_thread(self._service.store.item_records, [one.key for one in found])
        made = states.joined(found, records, clock.now())
        if changes == self._changes:
            self._made = (time.monotonic(), made)
        return made

    async def act(self, command: ItemCommand, caller: Caller, ask: Callable[[Any], Awaitable[Any]]) -> ItemView:
        """Only on an item that is there: a mistyped key must not look as if something was done."""
        try:
            states.check(command)
        except BadCommand as error:
            raise Problem(400, str(error)) from None
        await self._known(command.item)
        await ask(partial(_act, command, caller))
        self.forget()
        changed = await self._known(command.item)
        self._service.board.publish("inbox", changed)
        return changed

    async def _known(self, key: str) -> ItemView:
        found = next((one for one in await self.views() if one.key == key), None)
        if found is None:
            raise Problem(
                404, f"no item of the inbox is {key[:120]!r}; it may be over: GET /v1/inbox lists what is open"
            )
        return found

    async def _sources(self) -> Sources:
        service, board, now = self._service, self._service.board, clock.now()
        nodes = [life for name in board.views if (life := board.life(name)) is not None]
        waiting = [node.name for node in nodes if waits(node, board.policy)][:MOST_WAITING]
        verdicts = {name: (await asyncio.to_thread(service.store.verdicts, name)).get(name, ()) for name in waiting}
        incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
        jobs = await asyncio.to_thread(service.store.jobs, None, now - JOB_DIED_SECONDS, MOST_JOBS)
        try:
            trainings = (await service.trainings()).jobs if board.leading else ()
        except Problem:  # the lead went between two questions
            trainings = ()
        planned = (await service.planned()).planned if service.seams is not None else ()
        return Sources(
            nodes=nodes,
            verdicts=verdicts,
            incidents=incidents,
            trainings=[one for one in trainings if one.last_report_at >= now - JOB_DIED_SECONDS],
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
        """How many GPUs the node's agent last reported; None where it has not."""
        if (last := self._service.last_digest(node)) is None:
            return None
        return len(gpus_of([last])) or None


def _act(command: ItemCommand, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> None:
    known = transaction.store.item_records([command.item]).get(command.item)
    record, note = states.apply(known, command, caller.name, transaction.now)
    transaction.store.save_item(record, note)
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
