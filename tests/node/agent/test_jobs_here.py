"""What the agent says of jobs: those that somebody named, and nothing while its own suite runs."""

from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import job, node
from holdfast.model.wire.report import JobSeen
from holdfast.node.agent.reporting.jobs import JobsHere


def reading(*jobs: str, at: float = 10.0, source: str = "jobs", blind: str = "") -> Reading:
    signals = [] if blind else [Signal(node("n1"), "jobs_running", float(len(jobs)))]
    for name in jobs:
        signals += [
            Signal(job(name), "job_start_timestamp_seconds", 5.0),
            Signal(job(name), "job_gpus", "0,1,2"),
            Signal(job(name), "job_processes", 3.0),
        ]
    return Reading(source=source, at=at, signals=signals, blind=blind)


def test_a_named_job_is_reported_with_its_start_and_gpus() -> None:
    here = JobsHere(lambda: 0.0)
    assert here.record(reading("8012"))
    assert here.seen() == (JobSeen(id="8012", start=5.0, gpus=3),)
    assert not here.record(reading("8012")), "the same again is no news"
    assert here.record(reading())
    assert here.seen() == ()


def test_a_plain_process_may_be_a_daemon_and_is_no_job() -> None:
    here = JobsHere(lambda: 0.0)
    assert not here.record(reading("pid-77"))
    assert here.seen() == ()


def test_who_cannot_see_says_nothing() -> None:
    here = JobsHere(lambda: 0.0)
    here.record(reading("8012"))
    assert not here.record(reading(blind="it is unknown which processes hold GPUs"))
    assert here.seen() is None
    here.record(Reading(source="jobs", at=1.0, absent={(node("n1"), "jobs_running"): "another PID namespace?"}))
    assert here.seen() is None


def test_other_sources_do_not_matter() -> None:
    here = JobsHere(lambda: 0.0)
    assert not here.record(reading("8012", source="nvml"))
    assert here.seen() is None


def test_what_the_suite_runs_is_no_job_nor_is_what_was_read_before_it_ended() -> None:
    here = JobsHere(lambda: 20.0)
    with here.testing():
        here.record(reading("container-diag", at=15.0))
        assert here.seen() is None
    here.record(reading("container-diag", at=19.0))
    assert here.seen() is None
    here.record(reading(at=21.0))
    assert here.seen() == ()
