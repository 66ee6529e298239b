"""What happens to thousands at once costs what it must and no more."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.api.access import CredentialCache
from holdfast.fleet.decisions.change_filter import ChangeFilter
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import StoreError
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.records import Credential, Role
from holdfast.model.wire.report import Report, VerdictChange
from tests.counts import draws


def fleet_of(count: int) -> Fleet:
    place = [
        {"rack": f"r{number // 8}", "leaf": f"l{number // 32}", "loop": f"c{number // 64}"} for number in range(count)
    ]
    nodes = [NodeState(name=f"n{number:05d}", stage=Stage.READY, place=place[number]) for number in range(count)]
    return Fleet(Policy(), nodes)


def test_a_whole_fleet_that_falls_silent_is_an_incident_on_each_loop_and_on_no_node() -> None:
    count = draws(1_280, 12_800)
    fleet = fleet_of(count)
    fleet.tick(1_000.0)
    fleet.tick(1_000.0 + Policy().silent_seconds + 1)
    assert set(fleet.incidents.open) == {f"loop/c{number}" for number in range(count // 64)}


def test_of_reports_that_change_nothing_nothing_is_reported() -> None:
    fleet, simulated = fleet_of(3), ChangeFilter()
    for name in fleet.nodes:
        fleet.take(Report(node=name, session="s", seq=1, at=1.0), 1.0)
    assert len(simulated.changed(fleet, fleet.nodes, 1.0)) == 3
    assert simulated.changed(fleet, fleet.nodes, 2.0) == []
    change = VerdictChange(at=2.0, check="gpu.clocks", before="pass", after="degraded")
    fleet.take(Report(node="n00001", session="s", seq=2, at=2.0, changes=(change,)), 2.0)
    assert [(life.name, health) for life, health in simulated.changed(fleet, fleet.nodes, 3.0)] == [
        ("n00001", "degraded")
    ]


def test_tokens_asked_for_at_once_are_looked_up_together() -> None:
    asked: list[list[str]] = []

    def find(hashes: Sequence[str]) -> Mapping[str, Credential]:
        asked.append(sorted(hashes))
        one = Credential(token_hash="a", name="n1", role=Role.AGENT, created=0.0, expires=9.0)
        return {"a": one} if "a" in hashes else {}

    async def many() -> list[Credential | None]:
        lookup = CredentialCache(find)
        return await asyncio.gather(*(lookup(hashed) for hashed in "abcab"))

    found = asyncio.run(many())
    assert [one.name if one else None for one in found] == ["n1", None, None, "n1", None]
    assert asked == [["a", "b", "c"]]


@pytest.mark.parametrize("failure", [StoreError("away"), ValueError("away"), UnicodeEncodeError("a", "", 0, 1, "away")])
def test_a_store_that_fails_fails_all_who_asked_and_no_one_after(failure: Exception) -> None:
    answers = iter([failure, {}])

    def find(hashes: Sequence[str]) -> Mapping[str, Credential]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask() -> None:
        lookup = CredentialCache(find)
        message = await asyncio.gather(lookup("a"), lookup("b"), return_exceptions=True)
        assert message == [failure, failure]
        assert await lookup("a") is None

    async def in_time() -> None:
        async with asyncio.timeout(5):
            await ask()

    asyncio.run(in_time())
