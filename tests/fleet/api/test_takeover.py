"""A report that comes while no controller leads waits for the one that takes over."""

import asyncio
from collections.abc import Callable

import pytest

from holdfast.fleet.api import ingest
from holdfast.fleet.api.board import Board
from holdfast.fleet.api.report_quota import MOST_UNDER_WAY
from holdfast.fleet.decisions.lifecycle.policy import Policy

from .test_report_quota import StuckService, ask


def answers(nodes: list[str], then: Callable[[Board], None]) -> list[int]:
    """The statuses that these nodes get; `then` happens when all have asked."""

    async def run() -> list[int]:
        service = StuckService()
        board = service.board = Board(Policy())  # type: ignore[assignment]
        service.may.set()
        at = ingest.Ingest(service)  # type: ignore[arg-type]
        asked = [asyncio.create_task(ask(at, node)) for node in nodes]
        for _ in range(5):
            await asyncio.sleep(0)
        then(board)
        return await asyncio.gather(*asked)

    return asyncio.run(run())


def test_a_report_waits_for_the_takeover_and_is_then_taken() -> None:
    assert answers(["n1", "n2"], lambda board: board.lead(True, "")) == [200, 200]


def test_a_report_is_sent_on_when_another_takes_over() -> None:
    assert answers(["n1"], lambda board: board.lead(False, "https://other:1")) == [307]


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.api.ingest.TAKEOVER_SECONDS", 0.0)
    assert answers(["n1"], lambda board: None) == [503]


def test_so_many_wait_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.api.ingest.MOST_HELD", 2)
    assert answers(["n1", "n2", "n3"], lambda board: board.lead(True, "")) == [200, 200, 503]


def test_one_node_does_not_take_all_places() -> None:
    got = answers(["stolen"] * (MOST_UNDER_WAY + 1) + ["honest"], lambda board: board.lead(True, ""))
    assert sorted(got) == [200] * (MOST_UNDER_WAY + 1) + [429]


def test_nothing_waits_for_a_store_that_fails() -> None:
    async def run() -> int:
        service = StuckService()
        board = service.board = Board(Policy())  # type: ignore[assignment]
        board.components.failed("store", "away")
        return await ask(ingest.Ingest(service), "n1")  # type: ignore[arg-type]

    assert asyncio.run(run()) == 503


def test_a_lead_that_is_lost_is_waited_for_again() -> None:
    board = Board(Policy())
    board.lead(True, "")
    assert board.led.is_set()
    board.lead(False, "")
    assert not board.led.is_set()
