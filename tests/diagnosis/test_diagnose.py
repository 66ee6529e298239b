"""The diagnosis itself: evidence of any reader in, causes and the next step out."""

import pytest

from holdfast.catalog import causes
from holdfast.catalog.job_messages import groups
from holdfast.catalog.job_problems import problems
from holdfast.diagnosis.rules.diagnose import diagnose, subject_of
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value


def evidence(
    kind: str, role: str, cause: str = "", *, at: float = 0.0, rank: int | None = None, host: str = "", line: int = 1,
    code: str = "x", file: str = "a.log", **detail: Value,
) -> Evidence:  # fmt: skip
    event = Event(kind=kind, at=at, text=f"{kind} {code}", code=code, line=line, detail=detail)
    return Evidence(event=event, file=file, host=host, rank=rank, role=role, cause=cause)


def names(*items: Evidence) -> list[str]:
    return [one.name for one in diagnose(items).causes]


WATCHDOG = evidence("watchdog", "watchdog", at=1_772_620_600.0, rank=0, ran_ms="600000", line=50)
START = WATCHDOG.at - 600.0


def test_nothing_is_reported_of_nothing() -> None:
    reported = diagnose([])
    assert (reported.causes, reported.next, reported.unseen) == ((), None, ())


def test_a_watchdog_alone_is_unknown_and_says_what_to_collect() -> None:
    reported = diagnose([WATCHDOG])
    assert [one.name for one in reported.causes] == ["unknown"]
    assert any("Flight Recorder" in line for line in reported.unseen)


def test_the_wait_began_when_the_duration_says() -> None:
    reported = diagnose([WATCHDOG])
    assert reported.wait is not None
    assert reported.wait.since == START


def test_a_consequence_never_wins_over_what_came_before() -> None:
    lost = evidence("xid", "strong", "gpu.fell_off_bus", at=START - 2, host="n1", file="k.log")
    oom = evidence("exception", "strong", "job.cuda_oom", at=START + 1, rank=3)
    found = diagnose([WATCHDOG, oom, lost])
    assert [one.name for one in found.causes] == ["gpu.fell_off_bus"]
    assert any(reported.startswith("job.cuda_oom") for reported in found.causes[0].explains)
    assert found.next is not None
    assert found.next.exclude == ("n1",)


def test_of_two_that_may_follow_from_each_other_one_remains() -> None:
    """Told in two logs without a time: neither may take the other away."""
    bad = evidence("exception", "strong", "job.exception", rank=1, file="a.log")
    setup = evidence("rendezvous", "strong", "launcher.setup", file="b.log")
    assert len(names(bad, setup)) == len(names(setup, bad)) == 1


def test_what_happened_after_the_end_is_no_cause_of_it() -> None:
    own = evidence("exception", "strong", "job.exception", at=START, rank=1)
    late = Evidence(
        event=Event(kind="xid", at=WATCHDOG.at + 4000, text="Xid 79", code=79, line=1, action="restart_node"),
        file="k.log", host="n1", role="strong", cause="gpu.fell_off_bus",
    )  # fmt: skip
    assert names(WATCHDOG, own, late)[0] == "job.exception"


def test_clocks_that_differ_by_a_minute_change_nothing() -> None:
    own = evidence("cuda", "weak", "job.illegal_access", at=START, rank=1)
    for skew in (-90.0, 0.0, 90.0):
        lost = evidence("xid", "strong", "gpu.fell_off_bus", at=START + skew, host="n1", file="k.log")
        assert names(own, lost) == ["gpu.fell_off_bus"]


def test_a_stamp_without_a_year_takes_that_of_the_others() -> None:
    yearless = evidence("xid", "strong", "gpu.gsp", at=START - (1_772_000_000 - 67_824_000), host="n1")
    assert all(one.at > 1_700_000_000 or one.at < 100_000_000 for one in diagnose([WATCHDOG, yearless]).evidence)


def test_what_the_run_survived_is_not_reported() -> None:
    assert names(evidence("exception", "strong", "job.cuda_oom", steps_after=40.0)) == []


def test_ranks_that_differ_are_found_by_majority() -> None:
    waits = [
        evidence("watchdog", "watchdog", rank=rank, seq="7", op="ALLREDUCE", numel_in=size, line=rank + 1)
        for rank, size in enumerate(("128", "128", "128", "128", "128", "64", "128", "128"))
    ]
    reported = diagnose(waits)
    assert (reported.causes[0].name, reported.causes[0].ranks) == ("job.collective_mismatch", (5,))


def test_a_rank_that_says_nothing_while_all_others_wait_is_missing() -> None:
    waits = [evidence("watchdog", "watchdog", rank=rank, line=rank + 1) for rank in (0, 1, 2, 4, 5, 6, 7)]
    reported = diagnose(waits)
    assert [(one.name, one.ranks, subject_of(one)) for one in reported.causes] == [
        ("job.rank_missing", (3,), "job/this/rank/3")
    ]


def test_the_same_end_at_the_same_step_twice_stops() -> None:
    once = evidence("exception", "strong", "job.exception", rank=1, code="RuntimeError", step=500.0)
    again = evidence("exception", "strong", "job.exception", rank=1, code="RuntimeError", step=500.0, file="b.log")
    first, both = diagnose([once]).next, diagnose([once, again]).next
    assert first is not None
    assert both is not None
    assert (first.action, both.action) == ("restart_same", "stop")


def test_after_corruption_an_older_checkpoint_is_trusted() -> None:
    saves = [
        evidence("save", "note", code="end", step=str(step), path=f"/ckpt/{step}", line=step)
        for step in (100, 200, 300)
    ]
    nan = evidence("steps", "strong", "job.nan", step=250.0, line=260)
    reported = diagnose([*saves, nan])
    assert reported.next is not None
    assert reported.next.checkpoint == "/ckpt/200 (step 200)"


def test_every_cause_that_a_message_speaks_for_is_a_known_one() -> None:
    spoken = {message.cause for group in groups() for message in group.messages if message.cause}
    spoken |= {problem.cause for problem in problems()}
    assert spoken <= set(causes.all_causes())
    assert {
        "gpu.fell_off_bus", "gpu.ecc_uncorrectable", "gpu.nvlink", "gpu.gsp", "gpu.other_xid", "fabric.port_down",
        "fabric.retry_exceeded", "fabric.hca", "fabric.unreachable", "fabric.plugin_fallback", "storage.full",
        "storage.stall", "storage.corrupt", "host.oom", "host.killed", "host.other", "job.cuda_oom", "job.illegal_access",
        "job.rank_missing", "job.collective_mismatch", "job.rank_slow", "job.slowdown", "job.dataloader", "job.nan",
        "job.loss_spike", "job.exception", "launcher.setup", "unknown",
    } == set(causes.all_causes())  # fmt: skip


@pytest.mark.slow
def test_a_fleet_of_complaints_is_reported_of_too() -> None:
    """One of every host: what is compared with what does not grow with their square."""
    lost = [evidence("xid", "strong", "gpu.fell_off_bus", at=START, host=f"n{i}", file=f"k{i}") for i in range(5_000)]
    failed = [
        evidence("nccl.completion", "strong", "fabric.retry_exceeded", host=f"n{i}", file=f"logs/n{i}.log", status="12")
        for i in range(20_000)
    ]
    waits = [evidence("watchdog", "watchdog", at=WATCHDOG.at, rank=i, file=f"logs/n{i}.log") for i in range(20_000)]
    found = diagnose([*failed, *waits, *lost])
    assert found.causes[0].name == "gpu.fell_off_bus"


def test_a_file_is_named_after_a_host_by_whole_words() -> None:
    known = evidence("nccl.about", "note", host="n1", file="x.log")
    other = evidence("nccl.about", "note", host="n12-gpu", file="y.log")
    of_file = evidence("exception", "strong", "job.exception", file="logs/rank_3.n12-gpu.log")
    of_none = evidence("exception", "strong", "job.exception", file="logs/n123.log")
    placed = diagnose([known, other, of_file, of_none]).evidence
    assert {one.file: one.host for one in placed if one.event.kind == "exception"} == {
        "logs/rank_3.n12-gpu.log": "n12-gpu",
        "logs/n123.log": "",
    }


def test_one_gpu_spelled_in_three_ways_is_one() -> None:
    lost = [
        Evidence(
            event=Event(kind="gpu_lost", at=0.0, text="lost", code="79", device=device, line=line),
            file="k.log", host="n1", role="strong", cause="gpu.fell_off_bus",
        )
        for line, device in enumerate(["0000:17:00", "0000:17:00.0", "00000000:17:00.0"], 1)
    ]  # fmt: skip
    assert [subject_of(one) for one in diagnose(lost).causes] == ["node/n1/pci/0000:17:00"]


def test_who_reports_of_a_missing_rank_is_not_missing() -> None:
    reported = evidence("watchdog", "strong", "job.rank_missing", rank=3, ranks="0")
    assert [subject_of(one) for one in diagnose([reported]).causes] == ["job/this/rank/0"]


def test_an_adapter_without_a_port_is_named_by_its_place() -> None:
    event = Event(kind="mlx5", at=0.0, text="probe failed", code="probe_failed", device="0000:03:00.0", line=1)
    failed = Evidence(event=event, file="k.log", host="n1", role="strong", cause="fabric.hca")
    assert [subject_of(one) for one in diagnose([failed]).causes] == ["node/n1/pci/0000:03:00.0"]


def test_what_a_rank_waits_in_is_not_compared_with_what_another_enqueued_last() -> None:
    """Ranks 0 and 4 wait in the same collective; only one of them said how far it had enqueued."""
    reported = [
        evidence("watchdog", "watchdog", at=START, rank=0, seq="1580", line=1),
        evidence("watchdog", "watchdog", at=START, rank=4, seq="1580", line=2),
        evidence("watchdog", "watchdog", at=START, rank=0, seq="1580", enqueued="1582", code="position", line=3),
        evidence("watchdog", "watchdog", at=START, rank=3, seq="1570", enqueued="1572", code="position", line=4),
    ]
    first = diagnose(reported).causes[0]
    assert (first.name, first.ranks) == ("job.rank_missing", (3,))
