"""A stolen node cannot fill the controller's disk, memory or queue with reports."""

import asyncio
import json
from collections.abc import MutableMapping
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.fleet.api import ingest
from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.report_quota import BURST_BYTES, BYTES_PER_SECOND, LEAST_COST, MOST_UNDER_WAY, ReportQuota
from holdfast.model.records import Role
from holdfast.model.wire.order import Ack


class Hour:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_node_may_send_its_spool_and_then_so_much_a_second() -> None:
    hour = Hour()
    quota = ReportQuota(hour)
    quota.spend("stolen", BURST_BYTES)
    with pytest.raises(Problem) as refused:
        quota.spend("stolen", LEAST_COST)
    assert refused.value.status == 429
    quota.spend("honest", BURST_BYTES)
    hour.now += 10.0
    quota.spend("stolen", 10 * BYTES_PER_SECOND)
    with pytest.raises(Problem):
        quota.spend("stolen", LEAST_COST)


def test_what_is_refused_is_not_counted() -> None:
    hour = Hour()
    quota = ReportQuota(hour)
    quota.spend("eager", BURST_BYTES)
    for _ in range(100):
        with pytest.raises(Problem):
            quota.spend("eager", 1 << 20)
    hour.now += 40.0
    quota.spend("eager", 1 << 20)


def test_small_requests_are_bounded_too() -> None:
    quota = ReportQuota(Hour())
    for _ in range(BURST_BYTES // LEAST_COST):
        quota.spend("chatty", 2)
    with pytest.raises(Problem):
        quota.spend("chatty", 2)


class StuckService:
    """Takes reports and does not answer until it may."""

    def __init__(self, demo: bool = False) -> None:
        self.may, self.noted, self.waits = asyncio.Event(), list[Any](), 0
        self.board = SimpleNamespace(leading=True, leader="", demo=demo)
        self.access = SimpleNamespace(caller=self._caller)

    async def _caller(self, token: str, right: str) -> Caller:
        return Caller(token, Role.AGENT)

    async def take(self, caller: Caller, reports: object) -> Ack:
        self.waits += 1
        await self.may.wait()
        return Ack(accepted=(True,))

    def note(self, entry: object) -> None:
        self.noted.append(entry)


async def ask(at: ingest.Ingest, node: str) -> int:
    body = json.dumps([{"node": node, "session": "s", "seq": 1, "at": 1.0}]).encode()
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: MutableMapping[str, Any]) -> None:
        if "status" in message:
            statuses.append(message["status"])

    await at({"headers": [(b"authorization", f"Bearer {node}".encode())]}, receive, send)
    return statuses[0]


def test_one_node_does_not_fill_the_queue() -> None:
    async def flood() -> tuple[list[int], int, list[int]]:
        service = StuckService()
        at = ingest.Ingest(service)  # type: ignore[arg-type]
        stolen = [asyncio.create_task(ask(at, "stolen")) for _ in range(MOST_UNDER_WAY + 5)]
        honest = asyncio.create_task(ask(at, "honest"))
        while service.waits <= MOST_UNDER_WAY:
            await asyncio.sleep(0)
        service.may.set()
        first = await asyncio.gather(*stolen)
        return first, await honest, [await ask(at, "stolen")]

    first, honest, later = asyncio.run(flood())
    assert sorted(first) == [200] * MOST_UNDER_WAY + [429] * 5
    assert honest == 200
    assert later == [200]


@pytest.mark.parametrize(("demo", "status"), [(False, 429), (True, 200)])
def test_requests_are_charged_except_in_a_demo(demo: bool, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.fleet.api.report_quota.BURST_BYTES", LEAST_COST)

    async def twice() -> list[int]:
        service = StuckService(demo)
        service.may.set()
        at = ingest.Ingest(service)  # type: ignore[arg-type]
        at._quota = ReportQuota(Hour())  # its clock stands still
        return [await ask(at, "n"), await ask(at, "n")]

    assert asyncio.run(twice()) == [200, status]
