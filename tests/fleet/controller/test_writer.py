"""The one writer: a batch is one commit, work that fails keeps nobody else out, and a full queue says so."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.api.board import Board
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller import commands
from holdfast.fleet.controller.lead import Lead
from holdfast.fleet.controller.service import ControllerService
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.controller.writer import MOST_WAITING, Writer
from holdfast.fleet.decisions.current_verdicts import MOST_CHECKS
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.jobs.service import JobService
from holdfast.fleet.store import Store, StoreError
from holdfast.model.incident import Incident
from holdfast.model.records import AuditEntry, LifecycleStep
from holdfast.model.wire.report import Report, VerdictChange
from tests.stores import new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(new_store(tmp_path / "holdfast.db"))
    yield opened
    opened.close()


def wired(store: Store) -> Writer:
    service = ControllerService(store, Board(Policy()))
    service.writer = Writer(store, Policy(), Lead("test", ""), service.publish)
    return service.writer


def entry(verb: str) -> AuditEntry:
    return AuditEntry(at=1.0, who="t", role="", verb=verb, target="", outcome="done")


async def answers(writer: Writer, works: Sequence[ReportWork]) -> list[Any]:
    """All wait before the writer starts, so they become one batch."""
    asked = [asyncio.ensure_future(writer.ask(work)) for work in works]
    await asyncio.sleep(0)
    writer.start()
    try:
        return await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await asyncio.to_thread(writer.stop)


def break_down(error: Exception, transaction: Transaction, fresh: Sequence[bool]) -> None:
    transaction.audit.append(entry("never kept"))
    raise error


@pytest.mark.parametrize("error", [StoreError("cannot be kept"), RuntimeError("a mistake")], ids=["store", "mistake"])
def test_work_that_fails_keeps_no_other_out(store: Store, error: Exception) -> None:
    report = Report(node="n1", session="s", seq=1, at=1.0, heartbeat=True)
    works = [
        ReportWork(partial(commands.note, entry("first"))),
        ReportWork(partial(commands.take, [report], None, JobService()), [report]),
        ReportWork(partial(break_down, error)),
        ReportWork(partial(commands.note, entry("last"))),
    ]

    async def scenario() -> list[Any]:
        return await answers(wired(store), works)

    first, ack, failed, last = asyncio.run(scenario())
    assert (first, last) == (None, None)
    assert ack.accepted == (True,)
    assert isinstance(failed, Problem if isinstance(error, StoreError) else RuntimeError)
    assert sorted(one.verb for one in store.audit()) == ["first", "last"]
    assert store.record([report], 2.0) == [False]


def test_a_store_that_fails_for_a_moment_takes_the_whole_batch_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, transit = [], store.transit_all

    def fails_once(steps: Sequence[LifecycleStep], epoch: int) -> None:
        attempts.append(len(store.audit()))
        if len(attempts) == 1:
            raise StoreError("terminating connection due to idle-in-transaction timeout")
        transit(steps, epoch)

    monkeypatch.setattr(store, "transit_all", fails_once)
    works = [ReportWork(partial(commands.note, entry(str(number)))) for number in range(20)]

    async def scenario() -> list[Any]:
        return await answers(wired(store), works)

    assert asyncio.run(scenario()) == [None] * 20
    assert len(store.audit()) == 20
    assert attempts[:2] == [0, 0]
    assert all(stored in (0, 20) for stored in attempts), "never one by one"


def test_everyone_is_answered_where_the_fleet_cannot_be_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("away")

    def away(transaction: Transaction, fresh: Sequence[bool]) -> None:
        monkeypatch.setattr(store, "nodes", fails)
        raise StoreError("away")

    works = [ReportWork(away), *(ReportWork(partial(commands.note, entry("x"))) for _ in range(4))]

    async def scenario() -> list[Any]:
        return await answers(wired(store), works)

    assert [one.status for one in asyncio.run(scenario())] == [503] * 5


def test_a_refused_request_leaves_the_rest_of_its_batch_alone(store: Store) -> None:
    def refuse(transaction: Transaction, fresh: Sequence[bool]) -> None:
        raise Problem(409, "no")

    async def scenario() -> list[Any]:
        return await answers(wired(store), [ReportWork(refuse), ReportWork(partial(commands.note, entry("kept")))])

    refused, kept = asyncio.run(scenario())
    assert (refused.status, kept) == (409, None)
    assert [one.verb for one in store.audit()] == ["kept"]


def test_when_too_much_waits_more_is_refused_with_a_time_to_come_back(store: Store) -> None:
    """Heartbeats leave room for failures, commands and the outcomes of actions; that room has an end too."""
    beat = Report(node="n1", session="s1", seq=1, at=1.0, heartbeat=True)
    failure = replace(beat, changes=(VerdictChange(at=1.0, check="gpu.xid", before="pass", after="fail"),))
    command = partial(commands.note, entry("waits"))

    def nothing(transaction: Transaction, fresh: Sequence[bool]) -> None: ...

    def refused(writer: Writer, work: ReportWork) -> bool:
        try:
            writer.put(work)
        except Problem as problem:
            assert (problem.status, bool(problem.headers["Retry-After"])) == (503, True)
            return True
        return False

    async def scenario() -> None:
        writer = wired(store)
        for _ in range(MOST_WAITING):
            writer.put(ReportWork(nothing, [beat]))
        assert refused(writer, ReportWork(nothing, [beat]))
        assert not refused(writer, ReportWork(nothing, [failure]))
        assert not refused(writer, ReportWork(command))
        for _ in range(MOST_WAITING - 2):
            writer.put(ReportWork(command))
        assert refused(writer, ReportWork(command))

    asyncio.run(scenario())


def test_however_many_incidents_are_open_none_is_forgotten_by_a_restart(store: Store) -> None:
    epoch = store.lead("test", 1000, now=1.0) or 0
    many = [Incident(id=f"i{n}", opened=5.0, subject=f"node/n{n}", cause="agent.silent") for n in range(1_001)]
    store.save_incidents(many, epoch)
    writer = Writer(store, Policy(), Lead("test", ""), lambda news: None)
    assert len(writer._load().incidents.open) == 1_001


def passing(check: str) -> VerdictChange:
    return VerdictChange(at=1.0, check=check, before="", after="pass")


def test_a_node_cannot_have_verdicts_without_end(store: Store) -> None:
    """Each is kept in memory and in the store for as long as the node: a stolen one invents a million names."""

    def report(node: str, seq: int, *parts: Sequence[str]) -> ReportWork:
        reports = [
            Report(node=node, session="s", seq=seq + number, at=1.0, changes=tuple(map(passing, checks)))
            for number, checks in enumerate(parts)
        ]
        return ReportWork(partial(commands.take, reports, None, JobService()), reports)

    async def run() -> list[Any]:
        full = [f"c{number}" for number in range(MOST_CHECKS)]
        writer = wired(store)
        works = [report("stolen", 1, full, ["x"]), report("stolen", 3, full[:9]), report("honest", 1, full)]
        return await answers(writer, works)

    refused, taken, honest = asyncio.run(run())
    assert isinstance(refused, Problem) and refused.status == 400
    assert taken.accepted == honest.accepted == (True,)
    kept = {node: len(found) for node, found in store.verdicts().items()}
    assert kept == {"stolen": 9, "honest": MOST_CHECKS}
