"""The quiet loops: the fleet told to watchers, the board kept while another leads, old history forgotten."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import Transaction, Work
from holdfast.fleet.controller.writer import Writer
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.store import Store, StoreError
from holdfast.runtime import clock

log = logging.getLogger("holdfast.fleet.controller")
READ_SECONDS = 2.0
FORGET_SECONDS = 3_600.0
FORGOTTEN_AT_ONCE = 2_000


async def show_fleet(board: Board) -> None:
    while True:
        board.tell_fleet()
        await asyncio.sleep(1.0)


async def read_while_another_leads(board: Board, store: Store) -> None:
    """A standby answers questions too, from the store, a little late."""
    while True:
        if not board.leading:
            try:
                fleet = await asyncio.to_thread(_read, board, store)
            except StoreError as error:
                log.warning("the store does not answer: %s", error)
            else:
                now = clock.now()
                healths = {name: fleet.health(name, now) for name in fleet.nodes}
                if not board.leading:
                    board.replace_all(fleet.nodes.values(), healths, fleet.heard)
        await asyncio.sleep(READ_SECONDS)


def _read(board: Board, store: Store) -> Fleet:
    fleet = Fleet(board.policy, store.nodes(), store.verdicts())
    fleet.heard.update(store.heartbeats())
    return fleet


async def forget_the_old(writer: Writer, days: float) -> None:
    """A little at a time, between the batches that matter."""
    while True:
        await asyncio.sleep(FORGET_SECONDS)
        forgotten = FORGOTTEN_AT_ONCE
        while forgotten:
            try:
                forgotten = await writer.ask(Work(partial(_forget, days * 86_400)))
            except Problem as problem:
                log.debug("history is not shortened now: %s", problem)
                break


def _forget(seconds: float, transaction: Transaction, fresh: Sequence[bool]) -> int:
    return transaction.store.retain(transaction.now - seconds, FORGOTTEN_AT_ONCE)
