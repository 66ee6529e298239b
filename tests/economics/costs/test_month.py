"""A month of a fleet: every second of every node once, lost ones with their cause."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.month import Told, outages, slices
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import EventKind, Stage

S, H = Stage, EventKind


def change(at: float, before: Stage, after: Stage, kind: EventKind, cause: str = "", node: str = "n1") -> Told:
    return Told(node=node, at=at, before=before, after=after, happening=kind, cause=cause)


STORY = [
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
    found = slices(["n1"], STORY, [JOB], 0, 100, checkpoint_interval=8)
    parts = {part: hours(found, part=part) for part in {one.part for one in found}}
    assert parts == {
        "unknown": 10, "restart": 10, "idle": 20, "productive": 20, "degraded": 6, "rework": 4, "waiting": 30
    }  # fmt: skip
    assert hours(found, part="waiting", cause="gpu_xid") == 30, "out of service until it is tested and ready"
    assert hours(found, team="vision") == 30 and hours(found, job="7") == 30
    assert [(one.begin, one.end, one.what) for one in outages(found)] == [(60, 90, "gpu_xid")]


def test_what_took_a_node_out_first_is_why_it_is_out() -> None:
    """A person who repairs it is not, and degraded once too often is a failure under its own name."""
    story = [
        change(0, S.READY, S.DRAINING, H.DEGRADED, "gpu_clocks"),
        change(10, S.DRAINING, S.DRAINING, H.FAILED, "gpu_xid"),
        change(20, S.QUARANTINED, S.REMOVED, H.REMOVE, "operator"),
        change(50, S.TESTING, S.READY, H.TEST_PASSED),
        change(60, S.READY, S.DRAINING, H.QUARANTINE, "operator"),
    ]
    found = outages(slices(["n1"], story, [], 0, 100))
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
def test_every_second_is_told_once(story: list[Told], ran: list[Job], interval: float) -> None:
    found = slices(["n1"], story, ran, 0, 100, interval)
    reached = 0.0
    for one in found:
        assert one.begin == reached and one.end > one.begin
        reached = one.end
    assert reached == 100
