"""A machine's clock that is set back a day, while the controller runs and while it does not: verdicts go on."""

import asyncio
from pathlib import Path

import pytest

from holdfast.fleet.api.board import Board
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.service import ControllerService
from holdfast.fleet.controller.transaction import ReportWork
from holdfast.fleet.controller.writer import TICK_SECONDS, Writer
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.incident import IncidentState
from holdfast.runtime.clock import SteadyClock
from tests.stores import new_store

DAY = 86_400.0


class Machine:
    def __init__(self, wall: float = 2_000_000_000.0) -> None:
        self.offset, self.true = wall, 0.0

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.offset + self.true, lambda: self.true)


async def silent_after(store: Store, machine: Machine, *, set_back: bool) -> Board:
    """Enrol a node, and let it be silent for longer than the policy allows; the clock may be set back meanwhile."""
    board = Board(Policy())
    service = ControllerService(store, board)
    clock = machine.clock()
    writer = Writer(store, Policy(), Lead("test", ""), service.publish, clock=clock, components=board.components)
    writer.start()

    def enrol(transaction: object, fresh: object) -> None:
        transaction.decide(transaction.fleet.enrol("n1", "p", {}, transaction.now))  # type: ignore[attr-defined]
        transaction.fleet.last_report_at["n1"] = transaction.now  # type: ignore[attr-defined]

    try:
        await writer.ask(ReportWork(enrol))
        if set_back:
            machine.offset -= DAY
        for _ in range(2):  # the first round begins to listen, the second notices the silence
            machine.true += Policy().silent_seconds + TICK_SECONDS + 1
            await ticked(writer)
    finally:
        await asyncio.to_thread(writer.stop)
    return board


async def ticked(writer: Writer) -> None:
    """The first work ends the writer's wait for any; timers that are due come before, or with, the second."""
    for _ in range(2):
        await writer.ask(ReportWork(lambda transaction, fresh: None))


@pytest.mark.parametrize("set_back", [False, True])
def test_silence_is_noticed(tmp_path: Path, set_back: bool) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    try:
        asyncio.run(silent_after(store, Machine(), set_back=set_back))
        assert [one.subject for one in store.incidents(IncidentState.OPEN)] == ["node/n1"]
    finally:
        store.close()


def test_silence_is_noticed_by_a_controller_that_starts_a_day_before_what_it_stored(tmp_path: Path) -> None:
    store = Store.open(new_store(tmp_path / "holdfast.db"))
    try:
        asyncio.run(silent_after(store, Machine(2_000_000_000.0 + DAY), set_back=False))
        for one in store.incidents(IncidentState.OPEN):
            assert one.subject == "node/n1"
        later = Machine(2_000_000_000.0)
        board = asyncio.run(silent_after(store, later, set_back=False))
        assert [one.subject for one in store.incidents(IncidentState.OPEN)] == ["node/n1"]
        assert any(one.name == "clock" for one in board.components.all), "the operator learns of the wrong clock"
        assert max(one.at for one in store.transitions(0.0)) >= 2_000_000_000.0 + DAY
    finally:
        store.close()
