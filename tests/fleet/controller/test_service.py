"""Refusals noted: a flood neither fills the log, nor hides another's attempt, nor takes the answer away."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import busy
from holdfast.fleet.controller.service import MOST_NOTES_A_MINUTE, ControllerService
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.records import AuditEntry


class Queue:
    def __init__(self, *, full: bool = False) -> None:
        self.full, self.taken = full, 0

    def put(self, work: Any) -> None:
        if self.full:
            raise busy("4000 requests wait for the store already; try again")
        self.taken += 1


def refused(who: str, role: str) -> AuditEntry:
    return AuditEntry(at=1.0, who=who, role=role, verb="report", target="/v1/reports", outcome="refused 403", reason="")


def noted(tmp_path: Path, queue: Queue, entries: list[AuditEntry], monkeypatch: pytest.MonkeyPatch) -> int:
    async def note() -> None:
        service = ControllerService(store, board)
        service.writer = queue  # type: ignore[assignment]
        for entry in entries:
            service.note(entry)

    monkeypatch.setattr("holdfast.fleet.controller.service.time.monotonic", lambda: 600.0)
    board = Board(Policy(), demo=False, time_factor=1.0)
    board.leading = True
    store = Store.open(f"sqlite:///{tmp_path}/one.db")
    try:
        asyncio.run(note())
    finally:
        store.close()
    return queue.taken


def test_junk_of_one_address_does_not_hide_a_forgery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junk = [refused("10.0.0.9", "")] * (3 * MOST_NOTES_A_MINUTE)
    assert noted(tmp_path, Queue(), [*junk, refused("n020", "agent")], monkeypatch) == MOST_NOTES_A_MINUTE + 1


def test_addresses_without_number_do_not_hide_it_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junk = [refused(f"10.0.{n // 250}.{n % 250}", "") for n in range(2_000)]
    assert noted(tmp_path, Queue(), [*junk, refused("n020", "agent")], monkeypatch) == 1_001


def test_a_full_queue_does_not_take_the_refusals_words_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(tmp_path, Queue(full=True), [refused("n020", "agent")], monkeypatch) == 0
