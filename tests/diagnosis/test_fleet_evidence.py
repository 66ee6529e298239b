"""What the controller kept of a job and its nodes speaks beside the logs, and never more than it saw."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.diagnosis.evidence.fleet import of_history, of_job
from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.model.job import Job, JobState

END = 1_700_100_000.0
XID = {
    "kind": "xid", "text": "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.", "device": "0000:9b:00",
    "code": 79, "severity": "fatal", "action": "restart_node", "twin": False,
}  # fmt: skip


def job(state: JobState = JobState.FAILED, exit_code: str = "1:0") -> Job:
    return Job(id="77", source="slurm", nodes=("n1", "n2"), start=END - 9000, end=END, state=state, exit_code=exit_code)


def entry(reported_as: str, at: float, title: str = "", detail: str = "", **facts: Any) -> dict[str, Any]:
    return {"at": at, "kind": reported_as, "title": title, "detail": detail, "facts": facts}


def test_an_event_of_a_node_names_it_although_the_job_failed_ten_minutes_later() -> None:
    entries = [entry("event", END - 700, "xid", **XID)]
    found = diagnose([*of_job(job()), *of_history("n2", entries)])
    assert (found.causes[0].name, found.causes[0].host) == ("gpu.fell_off_bus", "n2")
    assert found.next is not None
    assert found.next.exclude == ("n2",)


def test_what_happened_hours_before_did_not_end_it() -> None:
    entries = [entry("event", END - 8000, "xid", **XID)]
    found = diagnose([*of_job(job(exit_code="0:11")), *of_history("n2", entries)])
    assert found.causes[0].name == "job.exception"


def test_a_verdict_speaks_where_no_event_does() -> None:
    entries = [entry("verdict", END - 650, "gpu.lost: pass -> fail", "7 of 8 GPUs", check="gpu.lost", after="fail")]
    found = diagnose([*of_job(job()), *of_history("n1", entries)])
    assert (found.causes[0].name, found.causes[0].host) == ("gpu.fell_off_bus", "n1")


def test_a_verdict_that_says_nothing_of_jobs_is_shown_and_blames_no_one() -> None:
    entries = [entry("verdict", END - 650, "", "", check="gpu.persistence", after="degraded")]
    found = diagnose([*of_job(job()), *of_history("n1", entries)])
    assert [one.name for one in found.causes] == ["unknown"]


def test_how_the_scheduler_says_that_it_ended() -> None:
    for state, cause in (
        (JobState.OUT_OF_MEMORY, "host.oom"),
        (JobState.TIMED_OUT, "host.killed"),
        (JobState.NODE_FAILED, "host.other"),
    ):
        assert diagnose(of_job(job(state, ""))).causes[0].name == cause
    assert diagnose(of_job(job(JobState.FAILED, "0:9"))).causes[0].name == "host.killed"
    assert not diagnose(of_job(job(JobState.COMPLETED, "0:0"))).causes
    assert not diagnose(of_job(job(JobState.RUNNING, ""))).causes


@given(st.lists(st.fixed_dictionaries(
    {"at": st.floats(0, 1e10), "kind": st.sampled_from(["event", "verdict", "transition", "action", "?"])},
    optional={"title": st.text(), "detail": st.text(), "facts": st.dictionaries(
        st.sampled_from(["check", "after", "kind", "text", "code", "detail"]), st.none() | st.text() | st.integers()
    )},
)))  # fmt: skip
def test_any_history_is_read(entries: list[dict[str, Any]]) -> None:
    diagnose(of_history("n1", entries))


def test_the_exit_code_as_slurm_writes_it() -> None:
    reported = {
        code: of_job(job(exit_code=code))[0].number("exit") for code in ("1:0", "0:9", "139:11", "0:0", "", "x:y", "7")
    }
    assert reported == {"1:0": 1, "0:9": -9, "139:11": -11, "0:0": 1, "": 1, "x:y": 1, "7": 7}
    done = of_job(job(JobState.COMPLETED, "0:0"))[0]
    assert (done.number("exit"), done.role) == (None, "note")
    assert of_job(job(JobState.CANCELLED, ""))[0].role == "weak"
    assert of_job(job(JobState.FAILED, ""))[0].role == "exit"


def test_a_job_of_one_node_names_it() -> None:
    alone = Job(
        id="77", source="slurm", nodes=("n1",), start=END - 9000, end=None, state=JobState.FAILED, exit_code="1:0"
    )
    assert (of_job(alone)[0].host, of_job(alone)[0].at) == ("n1", 0.0)
    assert (of_job(job())[0].host, of_job(job())[0].at) == ("", END)
    assert of_job(job())[0].event.text.endswith(", exit code 1:0")
    assert of_job(job(exit_code=""))[0].event.text.endswith("failed")


def test_what_a_history_says_and_what_it_does_not() -> None:
    entries = [
        entry("action", END, "cordon"),
        entry("verdict", END, "gpu.lost", "7 of 8", check="gpu.lost", after="pass"),
        entry("verdict", END, "gpu.lost", "7 of 8", check="gpu.lost", after="degraded"),
        entry("verdict", END, "", "7 of 8", check="gpu.lost", after="fail"),
        entry("transition", END, "t", kind="drained"),
        entry("transition", 0.0, "t", kind="blind"),
        {"kind": "verdict", "at": None, "facts": None},
    ]
    reported = of_history("n1", entries)
    assert [(one.event.line, one.event.severity, one.role, one.cause, one.at) for one in reported] == [
        (3, "warning", reported[0].role, reported[0].cause, END),
        (4, "fatal", "strong", "gpu.fell_off_bus", END),
        (5, "info", "note", "", END),
        (6, "warning", "weak", "host.other", 0.0),
    ]
    assert reported[0].event.text == "gpu.lost: 7 of 8"
    assert reported[1].event.text == "7 of 8"
    assert all((one.file, one.host, bool(one.event.action)) == ("controller/n1", "n1", True) for one in reported)
