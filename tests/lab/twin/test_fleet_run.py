"""The simulated fleet on the wire, against a service that speaks the agents' contract."""

import asyncio
from collections.abc import Callable

import msgspec

from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.run import FleetRun, FleetTarget
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.model.wire.digest import unpack
from holdfast.model.wire.report import Report
from tests.node.agent.service import FakeController, service

TIMEOUT_SECONDS = 90.0


def run_until(at: FakeController, fleet: FleetRun, reached: Callable[[], bool]) -> None:
    async def both() -> None:
        running = asyncio.create_task(fleet.run())
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while not reached():
                    assert not running.done()
                    await asyncio.sleep(0.02)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(both())


def fleet(
    at: FakeController, name: str = "background", nodes: int = 8, speed: float = 1_000.0, connections: int = 4
) -> FleetRun:
    target = FleetTarget(url=at.url, join_token="let-me-in", speed=speed, connections=connections)
    return FleetRun(Simulation(scenario(name), nodes, 1), target)


def test_every_node_enrols_with_its_place_and_beats_over_few_connections() -> None:
    with service() as at:
        run_until(at, fleet(at), lambda: len({report["node"] for report in at.received}) == 8)
        assert {asked["node"] for asked in at.enrolled} == {f"n00{i}" for i in range(1, 9)}
        assert at.enrolled[0]["place"] == {"rack": "rack1", "leaf": "leaf1", "loop": "loop1", "feed": "feed1"}
        assert all(asked["twin"] for asked in at.enrolled)
        assert all(report["twin"] for report in at.received)
        assert at.connections <= 4


def test_reports_are_numbered_without_gaps_and_digests_can_be_read() -> None:
    with service() as at:
        run_until(at, fleet(at, nodes=2), lambda: len(at.received) >= 20)
        for node in ("n001", "n002"):
            seqs = [report["seq"] for report in at.received if report["node"] == node]
            assert seqs == list(range(1, len(seqs) + 1))
        reports = [msgspec.convert(report, Report) for report in at.received]
        digests = [unpack(report.digest) for report in reports if report.digest]
        assert digests
        assert digests[0][0, "gpu_temperature_celsius"] > 30


def test_an_order_is_answered_after_the_time_its_suite_takes() -> None:
    with service() as at:
        at.orders = [{"id": 5, "verb": "retest", "suite": "7", "reason": "new"}]
        run_until(
            at, fleet(at, "quiet", nodes=1, speed=200.0), lambda: any(report["outcomes"] for report in at.received)
        )
        outcome = next(report["outcomes"][0] for report in at.received if report["outcomes"])
        assert (outcome["order"], outcome["health"], outcome["suite"]) == (5, "pass", "7")
        reported = next(report["at"] for report in at.received if report["outcomes"])
        assert 96 / 200 <= reported - outcome["began"] <= 144 / 200, "virtual time, told in the controller's"


def test_nothing_is_lost_while_the_controller_refuses() -> None:
    with service() as at:
        run = fleet(at, nodes=2)
        refused_until = 12

        def reached() -> bool:
            at.refuse_with = 503 if at.requests < refused_until else 0
            return len(at.received) >= 20

        run_until(at, run, reached)
        assert run.counts.troubles > 0
        for node in ("n001", "n002"):
            seqs = [report["seq"] for report in at.received if report["node"] == node]
            assert seqs == list(range(1, len(seqs) + 1))


def test_a_credential_that_is_refused_is_replaced() -> None:
    with service() as at:
        run = fleet(at, "quiet", nodes=1)
        dropped = False

        def reached() -> bool:
            nonlocal dropped
            if at.received and not dropped:
                dropped = True
                at.credentials.clear()
            return len(at.enrolled) == 2 and len(at.received) >= 4

        run_until(at, run, reached)
