"""job.nccl_settings: advice about a job, which never degrades or fails the node it runs on."""

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Verdict
from holdfast.node.checks.job.nccl_settings import CHECK

NOW = 1_000_000.0
PORT, JOB = "node/n1/nic/mlx5_0/1", "job/77"
SET: dict[str, Value] = {"job_processes": 8.0, "job_nccl_version": "2.27.3", "job_flight_recorder_entries": 2000.0}


def ask(job: dict[str, Value], outage: float = 0.0, unread: str = "") -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    ports = [Signal(PORT, "port_longest_outage_seconds_24h", outage)] if outage else []
    history.add(Reading(source="infiniband", at=NOW, signals=ports))
    absent = {(JOB, "job_nccl_ib_timeout"): unread} if unread else {}
    history.add(Reading(source="jobs", at=NOW, signals=[Signal(JOB, *pair) for pair in job.items()], absent=absent))
    return CHECK(history.window(NOW, CHECK.span))


def test_a_job_that_survives_and_leaves_a_trace_passes_without_a_word() -> None:
    verdict = ask(SET, outage=20.0)
    assert [(row.subject, row.health, row.reason) for row in verdict.rows] == [(JOB, Health.PASS, "")]
    assert verdict.remedy == ""


def test_timeout_is_held_against_the_outages_that_were() -> None:
    verdict = ask({**SET, "job_nccl_version": "2.21.5"}, outage=41.0)
    assert verdict.health is Health.PASS
    assert "down for 41" in verdict.rows[0].reason
    assert "give up after 7.5 s (default of NCCL 2.21.5)" in verdict.rows[0].reason
    assert "--tune-nccl" in verdict.remedy
    assert "give up" not in ask({**SET, "job_nccl_version": "2.21.5"}, outage=5.0).rows[0].reason
    assert "give up" not in ask({**SET, "job_nccl_ib_timeout": 22.0}, outage=41.0).rows[0].reason
    assert "give up" not in ask({**SET, "job_nccl_uses_rdma": 0.0}, outage=410.0).rows[0].reason


def test_no_trace_is_advised_against() -> None:
    off = ask({**SET, "job_flight_recorder_entries": 0.0, "job_nccl_ras_enabled": 0.0})
    assert "Flight Recorder is off" in off.rows[0].reason
    assert "RAS is off" in off.rows[0].reason
    unset = ask({"job_processes": 8.0, "job_nccl_version": "2.21.5"})
    assert "was not switched on" in unset.rows[0].reason
    assert "2.21.5 has no RAS" in unset.rows[0].reason


def test_nothing_makes_a_healthy_node_worse() -> None:
    worst_job: dict[str, Value] = {
        "job_processes": 8.0,
        "job_nccl_version": "2.8.3",
        "job_flight_recorder_entries": 0.0,
    }
    for verdict in (
        ask(worst_job, 500.0),
        ask({"job_processes": 1.0}),
        ask({}),
        ask(SET, unread="pid 1 cannot be read"),
    ):
        assert verdict.health in (Health.PASS, Health.NOT_APPLICABLE)
    assert ask(SET, unread="environment of pid 1 cannot be read: denied").health is Health.NOT_APPLICABLE


@pytest.mark.parametrize(("outage", "advised"), [(7.5, False), (7.6, True)])
def test_a_job_is_advised_once_an_outage_outlasted_it(outage: float, advised: bool) -> None:
    deadline = 4.096e-6 * 2**18 * 7  # 7.516 s
    row = ask({**SET, "job_nccl_version": "2.21.5"}, outage=outage).rows[0]
    assert ("give up" in row.reason) is advised
    assert (row.value, row.limit) == (outage, pytest.approx(deadline))


def test_an_outage_that_goes_on_counts_too() -> None:
    history = History("n1")
    history.add(Reading(source="infiniband", at=NOW, signals=[Signal(PORT, "port_outage_seconds", 41.0)]))
    history.add(Reading(source="jobs", at=NOW, signals=[Signal(JOB, *pair) for pair in SET.items()]))
    assert CHECK(history.window(NOW, CHECK.span)).rows[0].value == 41.0


def test_a_job_that_waits_for_ever_has_no_limit_and_no_port_means_no_outage() -> None:
    row = ask({**SET, "job_nccl_ib_timeout": 0.0}).rows[0]
    assert (row.value, row.limit) == (0.0, None)
    assert ask({**SET, "job_nccl_uses_rdma": 0.0}).rows[0].limit is None


def test_nothing_is_advised_where_nothing_can_be_reported() -> None:
    assert ask({"job_processes": 1.0}).remedy == ""
    assert ask({"job_processes": 1.0}).rows[0].reason.startswith("no NCCL: ")
    no_job = ask({}).rows[0]
    assert (no_job.subject, no_job.health, no_job.reason) == ("node/n1", Health.NOT_APPLICABLE, "no job is seen here")


def test_ras_is_advised_only_where_it_is_off() -> None:
    assert "RAS" not in ask({**SET, "job_nccl_ras_enabled": 1.0}).rows[0].reason
    assert ask({**SET, "job_nccl_ras_enabled": 0.0}).rows[0].reason == "RAS is off: NCCL_RAS_ENABLE=1"
