"""A month of a fleet: every second of every node once, lost ones with their cause."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.month import StageChange, outages, slices
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage

S, H = Stage, EventKind


def change(at: float, before: Stage, after: Stage, kind: EventKind, cause: str = "", node: str = "n1") -> StageChange:
    return StageChange(node=node, at=at, before=before, after=after, event=kind, cause=cause)


CHANGES = [
    change(10, S.PROVISIONING, S.TESTING, H.ENROLLED),
    change(20, S.TESTING, S.READY, H.TEST_PASSED),
    change(30, S.READY, S.ALLOCATED, H.JOB_STARTED),
    change(50, S.ALLOCATED, S.ALLOCATED, H.DEGRADED, "gpu_clocks"),
    change(60, S.ALLOCATED, S.DRAINING, H.FAILED, "gpu_xid"),
    change(70, S.DRAINING, S.QUARANTINED, H.EMPTIED),
    change(80, S.RESETTING, S.TESTING, H.RESET_DONE),
    change(90, S.TESTING, S.READY, H.TEST_PASSED),
]
JOB = Job(id="7", source="slurm", account="vision", nodes=("n1",), start=30, end=60, state=JobState.NODE_FAILED)


def hours(found: list[object], **wanted: str) -> float:
    return sum(one.seconds for one in found if all(getattr(one, k) == v for k, v in wanted.items()))  # type: ignore[attr-defined]


def test_each_second_is_what_it_was() -> None:
    found = slices(["n1"], CHANGES, [JOB], 0, 100, checkpoint_interval=8)
    parts = {part: hours(found, part=part) for part in {one.part for one in found}}
    assert parts == {
        "unknown": 10, "restart": 10, "idle": 20, "productive": 20, "degraded": 6, "rework": 4, "waiting": 30
    }  # fmt: skip
    assert hours(found, part="waiting", cause="gpu_xid") == 30, "out of service until it is tested and ready"
    assert hours(found, team="vision") == 30 and hours(found, job="7") == 30
    assert [(one.begin, one.end, one.what) for one in outages(found)] == [(60, 90, "gpu_xid")]


def test_what_took_a_node_out_first_is_why_it_is_out() -> None:
    """A person who repairs it is not, and degraded once too often is a failure under its own name."""
    changes = [
        change(0, S.READY, S.DRAINING, H.DEGRADED, "gpu_clocks"),
        change(10, S.DRAINING, S.DRAINING, H.FAILED, "gpu_xid"),
        change(20, S.QUARANTINED, S.REMOVED, H.REMOVE, "operator"),
        change(50, S.TESTING, S.READY, H.TEST_PASSED),
        change(60, S.READY, S.DRAINING, H.QUARANTINE, "operator"),
    ]
    found = outages(slices(["n1"], changes, [], 0, 100))
    assert [(one.begin, one.end, one.what) for one in found] == [(0, 50, "gpu_clocks"), (60, 100, "operator")]


def test_a_node_without_history_is_unknown_not_productive() -> None:
    assert [(one.part, one.seconds) for one in slices(["n9"], [], [], 0, 100)] == [("unknown", 100)]


moments = st.floats(-50, 150)
changes = st.builds(change, moments, st.sampled_from(Stage), st.sampled_from(Stage), st.sampled_from(EventKind))
jobs = st.builds(
    Job, id=st.sampled_from(["1", "2"]), source=st.just("slurm"), nodes=st.just(("n1",)), start=st.none() | moments,
    end=st.none() | moments, state=st.sampled_from(JobState),
)  # fmt: skip


@given(st.lists(changes, max_size=8), st.lists(jobs, max_size=4), st.floats(0, 60))
def test_every_second_is_reported_once(changes: list[StageChange], ran: list[Job], interval: float) -> None:
    found = slices(["n1"], changes, ran, 0, 100, interval)
    reached = 0.0
    for one in found:
        assert one.begin == reached and one.end > one.begin
        reached = one.end
    assert reached == 100


def parts(
    changes: list[StageChange], ran: list[Job] | None = None, interval: float = 0.0
) -> list[tuple[float, float, str, str]]:
    found = slices(["n1"], changes, ran or [], 0, 100, interval)
    return [(one.begin, one.end, one.part, one.cause) for one in found]


def test_a_node_tested_between_workloads_is_not_out_and_one_that_failed_its_test_is() -> None:
    passed = [change(0, S.ALLOCATED, S.CLEANING, H.JOB_ENDED), change(10, S.CLEANING, S.TESTING, H.CLEANED)]
    assert parts(passed) == [
        (0, 10, "restart", "tested between workloads"),
        (10, 100, "restart", "tested between workloads"),
    ]
    failed = [*passed, change(20, S.TESTING, S.TESTING, H.TEST_FAILED, "dcgm.diag")]
    assert parts(failed)[-1] == (20, 100, "waiting", "dcgm.diag")


def test_without_a_cause_what_happened_is_the_cause() -> None:
    assert parts([change(0, S.READY, S.DRAINING, H.QUARANTINE)]) == [(0, 100, "waiting", "quarantine")]
    assert parts([change(0, S.TESTING, S.PROVISIONING, H.ENROLLED)]) == [(0, 100, "waiting", "not in service yet")]


def test_a_node_that_works_again_is_out_no_more() -> None:
    changes = [
        change(0, S.READY, S.DRAINING, H.FAILED, "gpu_xid"),
        change(10, S.DRAINING, S.ALLOCATED, H.RELEASE),
        change(20, S.ALLOCATED, S.CLEANING, H.JOB_ENDED),
    ]
    assert parts(changes) == [
        (0, 10, "waiting", "gpu_xid"),
        (10, 20, "productive", ""),
        (20, 100, "restart", "tested between workloads"),
    ]


def test_degraded_lasts_until_it_recovers_or_passes_a_test() -> None:
    changes = [
        change(0, S.ALLOCATED, S.ALLOCATED, H.DEGRADED),
        change(10, S.ALLOCATED, S.ALLOCATED, H.JOB_STARTED),
        change(20, S.ALLOCATED, S.ALLOCATED, H.RECOVERED),
        change(30, S.ALLOCATED, S.ALLOCATED, H.DEGRADED, "gpu_ecc"),
        change(40, S.ALLOCATED, S.ALLOCATED, H.TEST_PASSED),
    ]
    assert parts(changes) == [
        (0, 10, "degraded", "degraded"), (10, 20, "degraded", "degraded"), (20, 30, "productive", ""),
        (30, 40, "degraded", "gpu_ecc"), (40, 100, "productive", ""),
    ]  # fmt: skip


ALLOCATED = [change(0, S.READY, S.ALLOCATED, H.JOB_STARTED)]


def job(start: float | None, end: float | None, state: JobState = JobState.COMPLETED, **more: str) -> Job:
    return Job(id=more.pop("id", "7"), source="slurm", nodes=("n1",), start=start, end=end, state=state, **more)


def whose(ran: list[Job], interval: float = 0.0) -> list[tuple[float, float, str, str, str]]:
    found = slices(["n1"], ALLOCATED, ran, 0, 100, interval)
    return [(one.begin, one.end, one.part, one.job, one.team) for one in found]


def test_allocated_time_is_shared_out_to_the_jobs_that_ran_then() -> None:
    found = whose([job(50, 80, id="b"), job(10, 40, id="a", account="vision"), job(None, 90, id="c")])
    assert found == [
        (0, 10, "productive", "no job", "no job"), (10, 40, "productive", "a", "vision"),
        (40, 50, "productive", "no job", "no job"), (50, 80, "productive", "b", "no account"),
        (80, 100, "productive", "no job", "no job"),
    ]  # fmt: skip


def test_a_job_that_still_runs_reaches_to_the_end_and_one_beside_it_is_reported_as_the_first() -> None:
    assert whose([job(0, None, id="a"), job(10, 40, id="b")]) == [(0, 100, "productive", "a", "no account")]
    assert [row[3] for row in whose([job(0, 50, id="a"), job(10, 80, id="b")])] == ["a", "b", "no job"]


def test_a_job_is_called_as_its_scheduler_shows_it() -> None:
    assert whose([job(0, 100, shown_as="7_3")])[0][3] == "7_3"


def test_a_job_that_died_repeats_half_an_interval_and_one_that_ended_does_not() -> None:
    assert whose([job(0, 50, JobState.FAILED)], 20)[:2] == [
        (0, 40, "productive", "7", "no account"), (40, 50, "rework", "7", "no account")
    ]  # fmt: skip
    assert whose([job(0, 50)], 20)[0] == (0, 50, "productive", "7", "no account")
    assert whose([job(45, 50, JobState.FAILED)], 20)[1] == (45, 50, "rework", "7", "no account")
    assert whose([job(0, 150, JobState.FAILED)], 20) == [(0, 100, "productive", "7", "no account")]


def test_outages_of_several_nodes_are_apart() -> None:
    changes = [
        change(0, S.READY, S.DRAINING, H.FAILED, "gpu_xid"),
        change(10, S.DRAINING, S.QUARANTINED, H.EMPTIED),
        change(50, S.TESTING, S.READY, H.TEST_PASSED),
        change(60, S.READY, S.DRAINING, H.FAILED, "gpu_xid"),
        change(0, S.READY, S.DRAINING, H.FAILED, "gpu_ecc", "n2"),
    ]
    found = outages(slices(["n1", "n2"], changes, [], 0, 100))
    assert [(one.node, one.begin, one.end, one.what) for one in found] == [
        ("n1", 0, 50, "gpu_xid"), ("n1", 60, 100, "gpu_xid"), ("n2", 0, 100, "gpu_ecc")
    ]  # fmt: skip


def test_a_job_that_died_at_the_end_of_its_node_repeats_too() -> None:
    assert whose([job(0, 100, JobState.FAILED)], 20) == [
        (0, 90, "productive", "7", "no account"), (90, 100, "rework", "7", "no account")
    ]  # fmt: skip
    assert whose([job(0, None, JobState.FAILED)], 20) == [(0, 100, "productive", "7", "no account")]
    assert whose([job(0, 50, JobState.NODE_FAILED)], 200)[0] == (0, 50, "rework", "7", "no account")


def test_nothing_is_repeated_where_no_one_says_how_long_an_interval_is() -> None:
    assert "rework" not in {one.part for one in slices(["n1"], CHANGES, [JOB], 0, 100)}


def test_jobs_are_reported_by_their_start_even_from_nothing_on() -> None:
    assert [row[3] for row in whose([job(0.5, 90, id="b"), job(0, 50, id="a")])] == ["a", "b", "no job"]
    assert whose([job(-5, 20, id="a")])[0] == (0, 20, "productive", "a", "no account")
    assert whose([job(100, 120, id="a"), job(-9, 0, id="b")]) == [(0, 100, "productive", "no job", "no job")]


def test_what_was_seen_first_is_the_evidence_of_an_outage() -> None:
    def result(at: float, after: Stage, kind: EventKind, cause: str, reason: str) -> StageChange:
        return StageChange(node="n1", at=at, before=S.READY, after=after, event=kind, cause=cause, reason=reason)

    changes = [
        result(10, S.DRAINING, H.FAILED, "gpu_xid", "XID 79"),
        result(20, S.QUARANTINED, H.EMPTIED, "", "drained"),
        result(30, S.READY, H.TEST_PASSED, "", "well"),
        result(40, S.SPARE, H.RELEASE, "", "kept"),
        result(50, S.CLEANING, H.FAILED, "gpu_ecc", "row 7"),
    ]
    found = slices(["n1"], changes, [], 0, 60)
    assert [(one.part, one.cause, one.seen) for one in found] == [
        ("unknown", "before anybody watched", ""), ("waiting", "gpu_xid", "XID 79"), ("waiting", "gpu_xid", "XID 79"),
        ("idle", "", ""), ("idle", "", ""), ("waiting", "gpu_ecc", "row 7"),
    ]  # fmt: skip
    assert [(one.begin, one.end, one.what, one.seen) for one in outages(found)] == [
        (10, 30, "gpu_xid", "XID 79"), (50, 60, "gpu_ecc", "row 7")
    ]  # fmt: skip


def test_what_is_before_and_after_the_month_is_not_of_it() -> None:
    changes = [
        change(5, S.TESTING, S.READY, H.TEST_PASSED),
        change(50, S.READY, S.DRAINING, H.FAILED, "gpu_xid"),
        change(250, S.TESTING, S.READY, H.TEST_PASSED),
    ]
    found = slices(["n1"], changes, [], 100, 200)
    assert [(one.begin, one.end, one.part, one.cause) for one in found] == [(100, 200, "waiting", "gpu_xid")]
    assert found[0].seconds == 100


def test_outages_that_follow_each_other_for_another_reason_are_two() -> None:
    changes = [
        change(0, S.READY, S.PROVISIONING, H.ENROLLED),
        change(40, S.PROVISIONING, S.DRAINING, H.FAILED, "gpu_xid"),
    ]
    found = outages(slices(["n1"], changes, [], 0, 100))
    assert [(one.begin, one.end, one.what) for one in found] == [(0, 40, "not in service yet"), (40, 100, "gpu_xid")]
