"""Several controllers on PostgreSQL: one leads, the others show and redirect, and one takes over when it dies."""

import signal
from pathlib import Path

import pytest

from holdfast.fleet.controller import lead

from .running import running, until

pytestmark = pytest.mark.slow


def test_a_standby_redirects_and_takes_over_within_ten_seconds(tmp_path: Path, postgres: str) -> None:
    with (
        running(tmp_path / "a", store=postgres) as first,
        running(tmp_path / "b", store=postgres, leads=False) as second,
    ):
        agent = first.ready_node("n1")
        agent.verdict("gpu.power", "degraded", "known to both")
        until(lambda: any(one["name"] == "n1" for one in second.get("/v1/nodes")["nodes"]), "the standby shows it too")
        assert second.get("/v1/nodes/n1")["stage"] == "ready"
        refused = second.report([agent.next(heartbeat=True)], agent.credential)
        assert refused.status_code == 307
        assert refused.headers["location"] == f"{first.url}/v1/reports"
        request = second.post("/v1/nodes/n1/retest", {"reason": "x"})
        assert (request.status_code, request.headers["location"]) == (307, f"{first.url}/v1/nodes/n1/retest")

        first.kill()
        until(lambda: second.get("/healthz")["leading"], "the standby leads")
        assert lead.LEASE_SECONDS + lead.TRY_SECONDS < 10.0  # bench/failover.py measures it
        agent.controller = second
        assert agent.beat()["accepted"] == [True]
        assert second.stage("n1") == "ready"
        second.post("/v1/nodes/n1/quarantine", {"reason": "still obeyed"})
        second.reaches("n1", "quarantined")


def test_a_leader_that_sleeps_and_wakes_finds_that_another_leads(tmp_path: Path, postgres: str) -> None:
    with (
        running(tmp_path / "a", store=postgres) as first,
        running(tmp_path / "b", store=postgres, leads=False) as second,
    ):
        agent = first.enrol("n1")
        first.process.send_signal(signal.SIGSTOP)
        until(lambda: second.get("/healthz")["leading"], "the standby leads")
        first.process.send_signal(signal.SIGCONT)
        until(lambda: first.report([agent.next(heartbeat=True)], agent.credential).status_code == 307, "it redirects")
        agent.controller = second
        agent.pass_test()
        assert second.stage("n1") == "ready"
