"""Background loops: the live stream, what a standby answers reads from, and deletion of expired rows."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store, StoreError
from holdfast.fleet.store.reports import NewestRows
from holdfast.model.health import Health
from holdfast.model.lifecycle import NodeState
from holdfast.model.wire.report import VerdictChange
from holdfast.runtime import clock

log = logging.getLogger("holdfast.fleet.controller")
READ_SECONDS = 2.0
MOST_CHANGED = 5_000  # rows; with more changes, the whole fleet is read
FORGET_SECONDS = 3_600.0
FORGOTTEN_AT_ONCE = 2_000


async def show_fleet(board: Board) -> None:
    while True:
        board.publish_fleet()
        await asyncio.sleep(1.0)


async def read_while_another_leads(board: Board, store: Store) -> None:
    """A standby also answers reads, from the store and with a small delay."""
    copy = FleetCopy(store)
    while True:
        if board.leading:
            copy = FleetCopy(store)
        else:
            try:
                await asyncio.to_thread(copy.read, board.policy)
            except StoreError as error:
                log.warning("the store does not answer: %s", error)
            else:
                if not board.leading:
                    healths = copy.healths(board.policy, clock.now())
                    board.replace_all(copy.nodes.values(), healths, copy.last_report_at)
        await asyncio.sleep(READ_SECONDS)


class FleetCopy:
    """A copy of the fleet for a standby: read completely once, then only the changed nodes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: NewestRows | None = None
        self._verdict: dict[str, str] = {}  # node -> its health, unless its agent is silent
        self.nodes: dict[str, NodeState] = {}
        self.last_report_at: dict[str, float] = {}
        self.read_whole = 0

    def read(self, policy: Policy) -> None:
        names: set[str] = set()
        marks = None
        if self._marks is not None:
            names, marks = self._store.changed_after(self._marks, MOST_CHANGED)
        if marks is None or len(names) >= MOST_CHANGED:
            marks = self._store.marks()  # read first, so that later changes are read again
            self.nodes, self._verdict = {}, {}
            self._put(policy, self._store.nodes(), self._store.verdicts())
            self.read_whole += 1
        elif names:
            chosen = sorted(names)
            for name in chosen:  # deleted nodes
                self.nodes.pop(name, None)
                self._verdict.pop(name, None)
            self._put(policy, self._store.nodes_of(chosen), self._store.verdicts_of(chosen))
        self._marks = marks
        self.last_report_at = self._store.heartbeats()

    def _put(self, policy: Policy, nodes: Sequence[NodeState], verdicts: Mapping[str, Sequence[VerdictChange]]) -> None:
        part = Fleet(policy, nodes, verdicts)
        part.last_report_at.update(dict.fromkeys(part.nodes, 0.0))
        self.nodes |= part.nodes
        self._verdict |= {name: part.health(name, 0.0) for name in part.nodes}

    def healths(self, policy: Policy, now: float) -> dict[str, str]:
        silent = Health.UNKNOWN.value
        return {
            name: silent if now - self.last_report_at.get(name, 0.0) > policy.silent_seconds else health
            for name, health in self._verdict.items()
        }


async def delete_expired(writer: Writer, days: float) -> None:
    """Deletes old history in small parts, between other batches."""
    while True:
        await asyncio.sleep(FORGET_SECONDS)
        forgotten = FORGOTTEN_AT_ONCE
        while forgotten:
            try:
                forgotten = await writer.ask(ReportWork(partial(_forget, days * 86_400)))
            except Problem as problem:
                log.debug("old history was not deleted: %s", problem)
                break


def _forget(seconds: float, transaction: Transaction, fresh: Sequence[bool]) -> int:
    return transaction.store.retain(transaction.now - seconds, FORGOTTEN_AT_ONCE)
