"""fabric.port_down: the deadline is the job's own, reported before it passes, and presumed is not confirmed."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks.fabric.port_down import CHECK
from holdfast.node.checks.fabric.port_users import rdma_job
from holdfast.node.checks.fabric.rdma_ports import for_seconds

NOW = 1_000_000.0
PORT, PEER, NODE = "node/n1/nic/mlx5_0/1", "node/n1/nic/mlx5_1/1", "node/n1"
QUIET = {"port_up": 1.0, "port_state": 4.0, "port_expected": 1.0, "port_outage_seconds": 0.0,
         "port_down_seconds_10m": 0.0, "port_down_seconds_1h": 0.0, "port_down_seconds_24h": 0.0,
         "port_flaps_24h": 0.0}  # fmt: skip


def down(seconds: float) -> dict[str, Value]:
    windows = {f"port_down_seconds_{window}": seconds for window in ("10m", "1h", "24h")}
    return {"port_up": 0.0, "port_state": 1.0, "port_outage_seconds": seconds, **windows}


def ask(port: dict[str, Value], *jobs: dict[str, Value], blind_jobs: bool = False) -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, PEER}))
    signals = [Signal(PORT, name, value) for name, value in {**QUIET, **port}.items()]
    signals += [Signal(PEER, name, value) for name, value in QUIET.items()]
    history.add(Reading(source="infiniband", at=NOW, signals=signals))
    if not blind_jobs:
        running = [Signal(NODE, "jobs_running", float(len(jobs)))]
        for number, job in enumerate(jobs):
            running += [Signal(f"job/{number}", name, value) for name, value in {"job_processes": 8.0, **job}.items()]
        history.add(Reading(source="jobs", at=NOW, signals=running))
    return CHECK(history.window(NOW, CHECK.span))


def row(verdict: Verdict, port: str = PORT) -> Row:
    return next(row for row in verdict.rows if row.subject == port)


def test_ports_that_held_pass() -> None:
    assert ask({}).health is Health.PASS


def test_before_the_deadline_it_counts_down() -> None:
    found = row(ask(down(4.0), {"job_nccl_version": "2.21.5"}))
    assert found.health is Health.DEGRADED
    assert "down 4.0 s, connections presumed lost in 3.5 s" in found.reason


def test_beyond_the_deadline_connections_are_presumed_lost() -> None:
    verdict = ask(down(12.0), {"job_nccl_version": "2.21.5"})
    found = row(verdict)
    assert (found.health, verdict.failure_class) == (Health.FAIL, FailureClass.CRASH)
    assert "presumed lost 4.5 s ago" in found.reason
    assert "job 0 (default of NCCL 2.21.5)" in found.reason
    assert "watchdog would notice in 588 s" in found.reason
    assert "job 0" in verdict.remedy
    assert row(verdict, PEER).health is Health.PASS


@pytest.mark.parametrize(
    ("job", "seconds", "health"),
    [
        ({"job_nccl_version": "2.23.4"}, 12.0, Health.DEGRADED),
        ({"job_nccl_version": "2.23.4"}, 31.0, Health.FAIL),
        ({"job_nccl_ib_timeout": 22.0, "job_nccl_ib_retries": 7.0}, 59.0, Health.DEGRADED),
        ({"job_nccl_ib_timeout": 14.0}, 8.0, Health.FAIL),
        ({"job_nccl_ib_timeout": 0.0}, 50.0, Health.DEGRADED),
        ({}, 8.0, Health.FAIL),
    ],
)
def test_the_deadline_is_the_jobs_own(job: dict[str, Value], seconds: float, health: Health) -> None:
    assert row(ask(down(seconds), job)).health is health


def test_an_assumed_timeout_is_reported_to_be_assumed() -> None:
    assert "assumed" in row(ask(down(8.0), {})).reason


def test_the_shortest_deadline_of_several_jobs_counts() -> None:
    found = row(ask(down(8.0), {"job_nccl_version": "2.23.4"}, {"job_nccl_version": "2.20.1"}))
    assert found.health is Health.FAIL
    assert "job 1" in found.reason


@pytest.mark.parametrize("job", [{"job_nccl_ib_hca": "=mlx5_1"}, {"job_nccl_uses_rdma": 0.0}])
def test_a_job_that_may_not_use_the_port_sets_no_deadline(job: dict[str, Value]) -> None:
    found = row(ask(down(8.0), {"job_nccl_ib_timeout": 14.0, **job}))
    assert found.health is Health.DEGRADED
    assert "no job was using it" in found.reason


def test_a_job_that_started_while_the_port_was_down_had_no_connections_to_lose() -> None:
    late: dict[str, Value] = {"job_nccl_ib_timeout": 14.0, "job_start_timestamp_seconds": NOW - 5}
    assert "no job was using it" in row(ask(down(8.0), late)).reason
    just: dict[str, Value] = {"job_nccl_ib_timeout": 14.0, "job_start_timestamp_seconds": NOW - 8}
    assert "job 0" in row(ask(down(8.0), just)).reason
    early: dict[str, Value] = {"job_nccl_version": "2.27.3", "job_start_timestamp_seconds": NOW - 900}
    assert "presumed lost in 22 s, by the transport timeout of job 0" in row(ask(down(8.0), early, late)).reason


def test_a_port_that_waits_for_its_subnet_manager_or_was_switched_off_is_reported_so() -> None:
    assert "subnet manager" in row(ask({**down(8.0), "port_state": 2.0})).reason
    assert row(ask({**down(8.0), "port_phys_state": 3.0})).reason.startswith("disabled; down 8.0 s")


def test_without_a_job_a_port_that_stays_down_degrades_until_its_downtime_is_too_long() -> None:
    found = row(ask(down(12.0)))
    assert found.health is Health.DEGRADED
    assert found.reason == "down 12 s; any connection over it is presumed lost after 7.5 s; no job was using it"
    found = row(ask({**down(61.0), "port_phys_state": 3.0}))
    assert (found.health, found.reason) == (Health.FAIL, "disabled; down 61 s in the last 10 min, limit 60 s")


def test_where_no_one_can_report_the_jobs_a_port_that_stays_down_fails() -> None:
    found = row(ask(down(8.0), blind_jobs=True))
    assert found.health is Health.FAIL
    assert "whether a job was using it is not known" in found.reason


def test_a_job_that_can_fail_over_is_reported() -> None:
    job: dict[str, Value] = {"job_nccl_version": "2.30.3", "job_nccl_port_failover": 1.0}
    assert "failed over" in row(ask(down(40.0), job)).reason


RECOVERED: dict[str, Value] = {
    "port_last_outage_seconds": 12.0,
    "port_last_outage_at_most_seconds": 12.0,
    "port_last_outage_end_timestamp_seconds": NOW - 30,
    "port_down_seconds_10m": 12.0,
    "port_down_seconds_1h": 12.0,
    "port_down_seconds_24h": 12.0,
    "port_flaps_24h": 1.0,
}


def test_a_job_that_lived_through_too_long_an_outage_is_still_presumed_broken_after_it() -> None:
    job: dict[str, Value] = {"job_nccl_version": "2.21.5", "job_start_timestamp_seconds": NOW - 9000}
    found = row(ask(RECOVERED, job))
    assert found.health is Health.FAIL
    assert "was down 12 s until 30 s ago" in found.reason
    assert "watchdog would notice in 558 s" in found.reason


def test_a_job_that_started_after_the_outage_is_not_touched_by_it() -> None:
    job: dict[str, Value] = {"job_nccl_version": "2.21.5", "job_start_timestamp_seconds": NOW - 20}
    assert row(ask(RECOVERED, job)).health is Health.DEGRADED, "only the downtime of ten minutes is left to tell"


LONG_THEN_SHORT: dict[str, Value] = {
    "port_longest_outage_seconds": 40.0,
    "port_longest_outage_end_timestamp_seconds": NOW - 60,
    "port_last_outage_seconds": 1.0,
    "port_last_outage_end_timestamp_seconds": NOW - 5,
    "port_down_seconds_10m": 41.0,
}
OLD_JOB: dict[str, Value] = {"job_nccl_version": "2.27.3", "job_start_timestamp_seconds": NOW - 9000}


@pytest.mark.parametrize("flap", [{}, {"port_up": 0.0, "port_state": 1.0, "port_outage_seconds": 1.0}])
def test_a_short_flap_after_a_long_outage_brings_no_connection_back(flap: dict[str, Value]) -> None:
    found = row(ask({**LONG_THEN_SHORT, **flap}, OLD_JOB))
    assert found.health is Health.FAIL
    assert "was down 40 s until 60 s ago" in found.reason


def test_a_job_between_the_longest_outage_and_the_last_is_judged_by_the_last() -> None:
    job: dict[str, Value] = {"job_nccl_ib_timeout": 14.0, "job_start_timestamp_seconds": NOW - 30}
    assert "was down 1.0 s" in row(ask(LONG_THEN_SHORT, job)).reason


@pytest.mark.parametrize(
    ("version", "switched_on", "fails_over"),
    [("2.30.3", 1.0, True), ("2.27.3", 0.0, False), ("2.20.1", 1.0, False), ("2.27.3", None, False)],
)
def test_a_job_fails_over_if_its_library_can_and_is_told_to(
    version: str, switched_on: float | None, fails_over: bool
) -> None:
    signals = [Signal("job/0", "job_nccl_version", version)]
    signals += [] if switched_on is None else [Signal("job/0", "job_nccl_port_failover", switched_on)]
    history = History("n1")
    history.add(Reading(source="jobs", at=NOW, signals=signals))
    found = rdma_job(history.window(NOW, CHECK.span), "job/0")
    assert found is not None and found.may_fail_over is fails_over


def test_a_second_job_does_not_hide_the_loss_of_the_first() -> None:
    newcomer: dict[str, Value] = {"job_nccl_version": "2.21.5", "job_start_timestamp_seconds": NOW - 2}
    verdict = ask(LONG_THEN_SHORT, OLD_JOB, newcomer)
    assert row(verdict).health is Health.FAIL
    assert "of job 0" in row(verdict).reason
    assert "job 0 still" in verdict.remedy


def test_every_job_that_lost_its_connections_is_named_in_the_remedy() -> None:
    verdict = ask(down(40.0), OLD_JOB, {"job_nccl_version": "2.21.5"}, {"job_nccl_ib_timeout": 22.0})
    assert "job 0, 1 still" in verdict.remedy


@pytest.mark.parametrize(
    ("downtime", "health"),
    [
        ({"port_down_seconds_10m": 7.0}, Health.PASS),
        ({"port_down_seconds_10m": 9.0}, Health.DEGRADED),
        ({"port_down_seconds_1h": 130.0}, Health.FAIL),
        ({"port_down_seconds_24h": 61.0}, Health.DEGRADED),
        ({"port_down_seconds_24h": 601.0}, Health.FAIL),
    ],
)
def test_many_short_outages_add_up(downtime: dict[str, Value], health: Health) -> None:
    assert row(ask(downtime)).health is health


def test_flaps_alone_are_evidence_and_no_fault() -> None:
    verdict = ask({"port_flaps_24h": 40.0, "port_down_seconds_24h": 5.0})
    assert verdict.health is Health.PASS
    assert any("went down 40 times" in message for message in verdict.evidence)


def test_what_is_uncertain_or_blind_is_reported() -> None:
    verdict = ask({**RECOVERED, "port_last_outage_at_most_seconds": 90.0, "port_link_downed_total": 255.0})
    assert any("at most 90 s" in message for message in verdict.evidence)
    assert any("255" in message for message in verdict.evidence)


def test_a_port_whose_state_cannot_be_reported_is_unknown() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    absent = {(PORT, name): "reads '4: ACT'" for name in ("port_up", "port_outage_seconds", "port_state")}
    history.add(Reading(source="infiniband", at=NOW, signals=[Signal(PORT, "port_expected", 1.0)], absent=absent))
    verdict = CHECK(history.window(NOW, 600))
    assert row(verdict).health is Health.UNKNOWN
    assert "4: ACT" in row(verdict).reason


def test_a_vanished_device_is_named() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    values = {**QUIET, **down(20.0)}
    del values["port_state"]
    history.add(
        Reading(
            source="infiniband",
            at=NOW,
            signals=[Signal(PORT, name, value) for name, value in values.items()],
            absent={(PORT, "port_state"): "device mlx5_0 disappeared"},
        )
    )
    found = row(CHECK(history.window(NOW, 600)))
    assert found.health is Health.FAIL
    assert "mlx5_0 disappeared" in found.reason


def test_ports_that_are_not_expected_get_no_row_and_the_node_does_not_pass() -> None:
    history = History("n1")
    signals = [Signal(PORT, name, value) for name, value in {**QUIET, "port_up": 0.0, "port_expected": 0.0}.items()]
    history.add(Reading(source="infiniband", at=NOW, signals=signals))
    verdict = CHECK(history.window(NOW, 600))
    assert [(found.subject, found.health) for found in verdict.rows] == [(NODE, Health.UNKNOWN)]


def test_no_rdma_on_a_node_is_unknown_until_the_manifest_says_so() -> None:
    history = History("n1")
    history.promise("infiniband", ("port_up", "port_outage_seconds", "port_down_seconds_10m"))
    history.add(Reading(source="infiniband", at=NOW, blind="no RDMA device"))
    assert CHECK(history.window(NOW, 600)).health is Health.UNKNOWN
    history.inventory = Inventory(node="n1", lacks={"rdma": "manifest: no RDMA"})
    assert CHECK(history.window(NOW, 600)).health is Health.NOT_APPLICABLE


def test_a_port_found_down_by_the_first_look_is_given_no_duration_and_no_countdown() -> None:
    found = row(ask({**down(0.0)}))
    assert found.health is Health.DEGRADED
    assert found.reason == "down (since when is not known from one reading); no job was using it"
    with_job = row(ask(down(0.0), {"job_nccl_version": "2.21.5"}))
    assert with_job.reason == "down (since when is not known from one reading); job 0 may have lost connections over it"
    blind = row(ask(down(0.0), blind_jobs=True))
    assert blind.reason.endswith("whether a job was using it is not known")


def test_one_look_says_that_earlier_outages_are_not_judged() -> None:
    message = "one reading: outages before it are not judged"
    verdict = ask({})
    assert message in verdict.evidence
    assert verdict.summary() == f"2 of 2 pass ({message})"
    assert ask({**down(0.0), "port_flaps_24h": 1.0}).evidence == (message,), "one look cannot count flaps"


def test_a_port_of_the_manifest_that_is_not_there_is_reported_to_be_missing_in_words() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, PEER}))
    history.add(
        Reading(source="infiniband", at=NOW, signals=[Signal(PEER, name, value) for name, value in QUIET.items()])
    )
    found = row(CHECK(history.window(NOW, 600)))
    assert (found.health, found.reason) == (Health.UNKNOWN, "no such port is seen on this node; the manifest lists it")


@pytest.mark.parametrize(
    ("window", "degraded", "failed"),
    [("10m", 7.5, 60.0), ("1h", 20.0, 120.0), ("24h", 60.0, 600.0)],
)
def test_how_much_downtime_is_borne(window: str, degraded: float, failed: float) -> None:
    def health(seconds: float) -> Health:
        return row(ask({f"port_down_seconds_{window}": seconds})).health

    assert [health(seconds) for seconds in (degraded - 0.1, degraded)] == [Health.PASS, Health.DEGRADED]
    assert [health(seconds) for seconds in (failed - 0.1, failed)] == [Health.DEGRADED, Health.FAIL]


@pytest.mark.parametrize(
    ("job", "deadline"),
    [
        ({"job_nccl_version": "2.21.5"}, 4.096e-6 * 2**18 * 7),
        ({"job_nccl_version": "2.23.4"}, 4.096e-6 * 2**20 * 7),
        ({"job_nccl_ib_timeout": 19.0, "job_nccl_ib_retries": 5.0}, 4.096e-6 * 2**19 * 5),
    ],
)
def test_connections_are_presumed_lost_from_the_deadline_on(job: dict[str, Value], deadline: float) -> None:
    assert row(ask(down(deadline * 0.99), job)).health is Health.DEGRADED
    found = row(ask(down(deadline), job))
    assert (found.health, found.limit) == (Health.FAIL, pytest.approx(deadline))
    ended: dict[str, Value] = {"port_last_outage_seconds": deadline, "port_last_outage_end_timestamp_seconds": NOW - 9}
    verdict = ask(ended, job)
    assert (row(verdict).health, "job 0 still" in verdict.remedy) == (Health.FAIL, True)
    shorter = ask({**ended, "port_last_outage_seconds": deadline * 0.99}, job)
    assert (row(shorter).health, shorter.remedy) == (Health.PASS, "")


@pytest.mark.parametrize(("share", "health"), [(0.99, Health.DEGRADED), (1.0, Health.FAIL)])
def test_a_user_with_a_timeout_of_microseconds_fails_no_node(share: float, health: Health) -> None:
    """The job lost its connections, and is named; but the outage is one that NCCL's own settings survive."""
    job: dict[str, Value] = {"job_nccl_ib_timeout": 1.0, "job_nccl_ib_retries": 1.0}
    seconds = share * 4.096e-6 * 2**18 * 7
    found = row(ask(down(seconds), job))
    assert (found.health, "presumed lost" in found.reason) == (health, True)
    ended: dict[str, Value] = {"port_last_outage_seconds": seconds, "port_last_outage_end_timestamp_seconds": NOW - 9}
    verdict = ask(ended, job)
    assert (row(verdict).health, "job 0 still" in verdict.remedy) == (health, True)


@pytest.mark.parametrize(("ago", "health"), [(600.0, Health.FAIL), (600.1, Health.PASS)])
def test_an_outage_is_held_against_a_job_until_its_watchdog_would_have_spoken(ago: float, health: Health) -> None:
    ended: dict[str, Value] = {"port_last_outage_seconds": 12.0, "port_last_outage_end_timestamp_seconds": NOW - ago}
    assert row(ask(ended, {"job_nccl_version": "2.21.5"})).health is health


def test_the_watchdog_is_reported_to_come_or_to_be_late() -> None:
    def message(seconds: float) -> str:
        return row(ask(down(seconds), {"job_nccl_version": "2.21.5"})).reason

    assert "watchdog would notice in 0.5 s" in message(599.5)
    assert "watchdog should have noticed by now" in message(600.0)
    assert "failed over" not in message(600.0)


def test_a_job_that_waits_for_ever_is_reported_to() -> None:
    found = row(ask(down(50.0), {"job_nccl_ib_timeout": 0.0}))
    assert "connections wait forever, by the transport timeout of job 0" in found.reason
    assert (found.limit, found.reason.endswith(")")) == (None, True)


def test_where_no_one_can_report_the_jobs_the_countdown_says_so() -> None:
    found = row(ask(down(5.0), blind_jobs=True))
    assert found.health is Health.DEGRADED
    assert found.reason.endswith("whether a job was using it is not known")


def test_a_port_that_is_up_again_is_not_reported_to_be_disabled() -> None:
    found = row(ask({"port_down_seconds_10m": 61.0, "port_phys_state": 3.0}))
    assert found.reason == "down 61 s in the last 10 min, limit 60 s"


def test_of_equal_downtimes_the_shortest_window_is_reported() -> None:
    found = row(ask({"port_down_seconds_10m": 8.0, "port_down_seconds_1h": 21.0}))
    assert found.reason == "down 8.0 s in the last 10 min, limit 7.5 s"
    worse = row(ask({"port_down_seconds_10m": 8.0, "port_down_seconds_1h": 121.0}))
    assert worse.reason == "down 121 s in the last 1 h, limit 120 s"


def looked(*looks: dict[str, Value], apart: float = 30.0) -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, PEER}))
    for number, port in enumerate(looks, 1 - len(looks)):
        signals = [Signal(PORT, name, value) for name, value in {**QUIET, **port}.items()]
        signals += [Signal(PEER, name, value) for name, value in QUIET.items()]
        signals.append(Signal(NODE, "jobs_running", 0.0))
        history.add(Reading(source="infiniband", at=NOW + apart * number, signals=signals))
    return CHECK(history.window(NOW, CHECK.span))


def test_from_the_recheck_on_nothing_is_excused_as_one_look() -> None:
    verdict = looked({}, {})
    assert (row(verdict).reason, verdict.evidence) == ("", ())
    assert looked({}).evidence == ("one reading: outages before it are not judged",)


def test_a_port_that_went_down_between_two_looks_is_down_with_a_duration() -> None:
    assert row(looked({}, down(0.0))).reason.startswith("down 0.0 s; any connection over it")
    assert row(looked(down(0.0))).reason.startswith("down (since when is not known from one reading)")


def test_one_port_seen_once_is_enough_to_say_so() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, PEER}))
    for at, port in ((NOW - 30, PEER), (NOW, PEER), (NOW, PORT)):
        history.add(
            Reading(source="infiniband", at=at, signals=[Signal(port, name, value) for name, value in QUIET.items()])
        )
    verdict = CHECK(history.window(NOW, CHECK.span))
    assert verdict.evidence == ("one reading: outages before it are not judged",)
    assert (row(verdict).reason, row(verdict, PEER).reason) == ("one reading: outages before it are not judged", "")


def test_flaps_are_counted_once_they_were_watched() -> None:
    flaps: dict[str, Value] = {"port_flaps_24h": 2.0}
    assert looked(flaps, flaps).evidence == ("nic mlx5_0/1: went down 2 times in 24 h, 0.0 s in all",)
    assert looked(flaps).evidence == ("one reading: outages before it are not judged",)
    assert "went down" not in "".join(looked({"port_down_seconds_24h": 5.0}, {"port_down_seconds_24h": 5.0}).evidence)


def test_the_end_of_an_outage_is_reported_to_be_uncertain_only_if_it_is() -> None:
    certain = {"port_last_outage_seconds": 3.0, "port_last_outage_at_most_seconds": 3.0}
    assert looked(certain, certain).evidence == ()
    blind = {"port_last_outage_seconds": 0.0, "port_last_outage_at_most_seconds": 0.5}
    (message,) = looked(blind, blind).evidence
    assert message == "nic mlx5_0/1: last outage at least 0.0 s, at most 0.5 s: its end was not observed"


@pytest.mark.parametrize(("downed", "expected"), [(254.0, False), (255.0, True)])
def test_a_counter_of_outages_at_its_end_is_reported(downed: float, expected: bool) -> None:
    values: dict[str, Value] = {"port_link_downed_total": downed}
    assert any("does not count further" in message for message in looked(values, values).evidence) is expected


@pytest.mark.parametrize(("writable", "expected"), [(0.0, True), (1.0, False)])
def test_a_ledger_that_cannot_be_written_is_reported(writable: float, expected: bool) -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    for at in (NOW - 30, NOW):
        signals = [Signal(PORT, name, value) for name, value in QUIET.items()]
        signals.append(Signal(NODE, "port_ledger_writable", writable))
        absent = {(NODE, "port_ledger_file"): "read-only file system"}
        history.add(Reading(source="infiniband", at=at, signals=signals, absent=absent))
    evidence = CHECK(history.window(NOW, CHECK.span)).evidence
    assert evidence == (("outages are kept in memory only: read-only file system",) if expected else ())


def test_ports_that_were_never_up_are_counted() -> None:
    history = History("n1")
    idle = {**QUIET, "port_up": 0.0, "port_expected": 0.0}
    for port in (PORT, PEER):
        history.add(
            Reading(source="infiniband", at=NOW, signals=[Signal(port, name, value) for name, value in idle.items()])
        )
    verdict = CHECK(history.window(NOW, 600))
    assert verdict.summary() == "n1: none of 2 ports was ever up: list the expected ones in the manifest"


def test_one_idle_port_beside_one_that_is_expected_leaves_the_node_judged() -> None:
    history = History("n1")
    for port, values in ((PORT, QUIET), (PEER, {**QUIET, "port_up": 0.0, "port_expected": 0.0})):
        history.add(
            Reading(source="infiniband", at=NOW, signals=[Signal(port, name, value) for name, value in values.items()])
        )
    assert [found.subject for found in CHECK(history.window(NOW, 600)).rows] == [PORT]


def test_a_port_about_which_only_its_state_is_known_is_judged_by_that() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    signals = [Signal(PORT, "port_up", 0.0), Signal(PORT, "port_expected", 1.0), Signal(NODE, "jobs_running", 0.0)]
    for at in (NOW - 30, NOW):
        history.add(Reading(source="infiniband", at=at, signals=signals))
    found = row(CHECK(history.window(NOW, CHECK.span)))
    assert found.health is Health.DEGRADED
    assert "down 0.0 s" in found.reason


@pytest.mark.parametrize(
    ("hca", "health"), [("=mlx5_0", Health.FAIL), ("=mlx5_0:1", Health.FAIL), ("=mlx5_0:2", Health.DEGRADED)]
)
def test_a_job_that_names_the_port_sets_its_deadline(hca: str, health: Health) -> None:
    assert row(ask(down(8.0), {"job_nccl_ib_timeout": 14.0, "job_nccl_ib_hca": hca})).health is health


def test_a_device_that_is_gone_is_looked_for_and_not_its_cable() -> None:
    assert "cable" in ask(down(100.0)).remedy
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT, PEER}))
    gone = {**QUIET, **down(100.0)}
    del gone["port_state"]
    signals = [Signal(PORT, name, value) for name, value in gone.items()]
    signals += [Signal(PEER, name, value) for name, value in QUIET.items()]  # a healthy port beside it changes nothing
    history.add(Reading(source="infiniband", at=NOW, signals=signals))
    verdict = CHECK(history.window(NOW, CHECK.span))
    assert verdict.remedy.startswith("check the PCI bus") and "cable" not in verdict.remedy


@pytest.mark.parametrize(("seconds", "text"), [(9.94, "9.9 s"), (10.0, "10 s"), (10.4, "10 s")])
def test_less_than_ten_seconds_are_told_with_a_decimal(seconds: float, text: str) -> None:
    assert for_seconds(seconds) == text


def test_ports_that_are_expected_and_not_read_are_not_said_to_have_never_been_up() -> None:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({PORT}))
    signals = [Signal(PORT, "port_expected", 1.0), Signal(PEER, "port_up", 0.0), Signal(NODE, "jobs_running", 0.0)]
    history.add(Reading(source="infiniband", at=NOW, signals=signals))
    verdict = CHECK(history.window(NOW, CHECK.span))
    assert (verdict.health, "was ever up" in verdict.summary()) == (Health.UNKNOWN, False)
