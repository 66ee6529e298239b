"""A whole diagnosis: whom it blames, what it explains, what a person reads."""

import pytest

from holdfast.diagnosis.evidence.nccl_ras import evidence as of_ras
from holdfast.diagnosis.rules import report
from holdfast.diagnosis.rules.diagnose import Diagnosis, diagnose, subject_of
from holdfast.diagnosis.rules.next_step import JobNextStep
from holdfast.formats.nccl.ras import Absent, Behind, Status
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, reported, wait, watchdog


@pytest.mark.parametrize(
    ("cause", "more", "subject"),
    [
        ("gpu.gsp", {"host": "n1", "device": "0000:9b:00"}, "node/n1/pci/0000:9b:00"),
        ("gpu.gsp", {"device": "0000:9b:00"}, "node/unknown/pci/0000:9b:00"),
        ("gpu.gsp", {"host": "n1"}, "node/n1"),
        ("gpu.gsp", {"ranks": (3,)}, "job/this/rank/3"),
        ("gpu.gsp", {}, "job/this"),
        ("fabric.hca", {"host": "n1", "device": "mlx5_0:2"}, "node/n1/nic/mlx5_0/2"),
        ("fabric.hca", {"host": "n1", "device": "mlx5_0"}, "node/n1/nic/mlx5_0/1"),
        ("fabric.hca", {"host": "n1", "device": "0000:03:00.0"}, "node/n1/pci/0000:03:00.0"),
        ("fabric.hca", {"host": "n1"}, "node/n1"),
        ("host.oom", {}, "node/unknown"),
        ("storage.full", {"note": "/mnt/a/"}, "storage/mnt/a"),
        ("storage.full", {"device": "sda"}, "storage/sda"),
        ("storage.full", {"note": "/"}, "storage/unknown"),
        ("job.exception", {"ranks": tuple(range(8))}, "job/this/rank/0,1,2,3,4,5,6,7"),
        ("job.exception", {"ranks": tuple(range(9))}, "job/this"),
        ("job.nan", {"ranks": (3,)}, "job/this"),
    ],
)
def test_who_is_blamed(cause: str, more: dict[str, object], subject: str) -> None:
    assert subject_of(candidate(cause, reported("x"), **more)) == subject


EFFECT = reported("nccl", "effect", rank=1, line=2)


@pytest.mark.parametrize(
    ("why", "evidence", "found"),
    [
        ("a watchdog", [watchdog(None, at=0.0)], ["unknown"]),
        ("somebody lost a peer", [EFFECT], ["unknown"]),
        ("a process failed", [reported("exit", "exit", exit="3")], ["unknown"]),
        ("a process ended well", [reported("exit", "exit", exit="0")], []),
        ("connections are closed at every end", [reported("nccl", "effect", code="closed_by_local_rank")], []),
        ("an Xid that follows from another", [reported("xid", "effect")], []),
    ],
)
def test_an_end_that_nothing_explains_is_unknown(why: str, evidence: list[Evidence], found: list[str]) -> None:
    assert [one.name for one in diagnose(evidence).causes] == found, why


def test_an_unknown_end_names_who_went_away_first() -> None:
    lost = [reported("nccl", "effect", rank=n, line=n, peer=peer) for n, peer in enumerate(["b<1>", "a<1>", "a<2>", "c<1>", "c<2>", "c<3>"])]  # fmt: skip
    (one,) = diagnose([*lost, reported("exit", "exit", exit="3", line=9)]).causes
    assert (one.confidence, one.note, len(one.evidence)) == (0.3, "look at the log of c, which went away first", 5)
    (waited,) = diagnose([watchdog(None, at=0.0), reported("nccl", "effect", peer="c<1>")]).causes
    assert (waited.note, [item.role for item in waited.evidence]) == ("", ["watchdog"])
    assert diagnose([reported("exit", "exit", exit="3")]).causes[0].note == "the first sign is: exit x"


@pytest.mark.parametrize(
    ("sure", "left"), [((0.3, 0.29), ["storage.full"]), ((0.29, 0.2), ["storage.full"]), ((0.3, 0.3), ["storage.full", "host.oom"])]
)  # fmt: skip
def test_a_doubtful_cause_is_reported_where_it_is_the_only_one(sure: tuple[float, float], left: list[str]) -> None:
    from holdfast.diagnosis.rules.diagnose import _worth_reporting

    given = [
        candidate(name, reported("x"), base=each) for name, each in zip(("storage.full", "host.oom"), sure, strict=True)
    ]
    assert [one.name for one in _worth_reporting(given)] == left
    assert _worth_reporting([candidate("host.oom", reported("x"), base=0.09)]) == []
    assert len(_worth_reporting([candidate("host.oom", reported("x"), base=0.1)])) == 1


def test_a_crash_explains_the_wait_and_the_lines_of_those_who_lost_a_peer() -> None:
    lost = reported("xid", "strong", "gpu.gsp", at=NOON - 700, host="n1", file="k.log")
    closed = [reported("nccl", "effect", rank=n, line=n, at=NOON) for n in (1, 2)]
    first = diagnose([lost, watchdog(0, at=NOON, ran_ms="600000"), *closed, reported("xid", "effect", at=NOON)]).causes[
        0
    ]
    assert first.explains[-2:] == ["watchdog timeout of rank 0", "2 lines of processes that lost a peer or were ended"]
    alone = diagnose([lost, closed[0]]).causes[0]
    assert alone.explains[-1] == "1 line of processes that lost a peer or were ended"
    assert diagnose([lost]).causes[0].explains == []
    slow = diagnose([reported("x", "strong", "job.slowdown"), reported("nccl", "effect", rank=1)]).causes[0]
    assert slow.explains == []


def test_eight_causes_are_enough() -> None:
    many = [reported("xid", "strong", "gpu.gsp", host=f"n{n}", line=n) for n in range(12)]
    found = diagnose(many)
    assert len(found.causes) == 8
    assert found.next is not None
    assert len(found.next.exclude) == 12


def diagnosis(*causes: object, evidence: tuple[Evidence, ...] = (), next_step: JobNextStep | None = None, waiting: object = None) -> Diagnosis:  # fmt: skip
    return Diagnosis(causes, next_step, (), evidence, waiting)  # type: ignore[arg-type]


FULL = candidate("storage.full", reported("x", at=NOON, line=3), base=0.8, note="/mnt")


def test_the_history_in_nine_lines() -> None:
    assert report.lines(diagnosis()) == ["nothing found that ended or harmed this job"]
    FULL.explains[:] = ["a", "b", "c", "d", "e"]
    FULL.contradicts[:] = ["x", "y", "z"]
    steps = tuple(reported("steps", code=code, step=str(at)) for code, at in (("progress", 40), ("progress", 90), ("resume", 99), ("progress", 0)))  # fmt: skip
    others = [candidate("host.oom", reported("x"), base=0.5, host=f"n{n}") for n in range(5)]
    all_reported = report.lines(
        diagnosis(FULL, *others, evidence=steps, waiting=wait(watchdog(0, at=NOON, ran_ms="600000")))
    )
    assert len(all_reported) == 9
    assert all_reported[0].startswith("storage.full (80 %): ")
    assert [line.startswith("also: host.oom (50 %)") for line in all_reported[1:5]] == [True, True, True, False]
    assert all_reported[4:] == [
        "it began at 2026-03-04 10:26:40",
        "the ranks waited from 2026-03-04 10:16:40; the watchdog fired at 2026-03-04 10:26:40",
        "it explains: a, b, c, d",
        "against it: x; y",
        "the last step seen is 90",
    ]


def test_what_no_one_knows_is_left_out_of_the_history() -> None:
    bare = candidate("storage.full", reported("x"), base=0.8)
    assert len(report.lines(diagnosis(bare))) == 1
    assert len(report.lines(diagnosis(bare, waiting=wait(watchdog(0, at=0.0))))) == 1
    unknown = candidate("unknown", reported("x"), base=0.3)
    assert len(report.lines(diagnosis(unknown, waiting=wait(watchdog(0, at=NOON))))) == 1


def test_a_moment_without_a_year_is_reported_without_one() -> None:
    assert report.moment(66_000_000.0) == "02-03 21:20:00"
    assert report.moment(NOON) == "2026-03-04 10:26:40"


def test_the_three_pieces_to_look_at() -> None:
    items = [reported("x", "strong", line=n) for n in range(3)]
    first, second = (
        candidate("storage.full", items[0], items[1]),
        candidate("host.oom", items[1], items[2], reported("y")),
    )
    chosen = report.best_evidence(diagnosis(first, second))
    assert chosen == items


STEP = JobNextStep("restart_excluding", "because", ("n1", "n2"), "/ckpt (step 3)", {"A": "1"})


def test_the_next_step_in_lines() -> None:
    assert report.next_lines(diagnosis()) == []
    assert report.next_lines(diagnosis(FULL, next_step=STEP)) == [
        "restart excluding: start it again without the node; because", "exclude n1, n2", "start from /ckpt (step 3)", "set A = 1",
    ]  # fmt: skip
    assert report.next_lines(diagnosis(FULL, next_step=JobNextStep("stop", "why"))) == [
        "stop: change it before the next start; why"
    ]


def test_a_ticket_has_the_parts_there_is_something_in() -> None:
    whole = report.markdown(diagnosis(FULL, next_step=STEP), ["a kernel log"])
    assert [line for line in whole.splitlines() if line.startswith("#")] == [
        "## Why the job failed", "### Evidence", "### Next step", "### Not seen",
    ]  # fmt: skip
    assert "- `a.log:3`: `x x`" in whole
    assert "- a kernel log" in whole
    assert [line for line in report.markdown(diagnosis(), []).splitlines() if line.startswith("#")] == [
        "## Why the job failed"
    ]


def test_what_ras_says_of_a_live_job() -> None:
    status = Status((Absent("n1", 77, 3, True), Absent("n2", 78, None, False)), (Behind(5, "n3", 10, 20),))
    found = of_ras(status, "ras", NOON)
    assert [(one.role, one.rank, one.host, one.cause, one.at) for one in found] == [
        ("strong", 3, "n1", "job.rank_missing", NOON),
        ("weak", None, "n2", "job.rank_missing", NOON),
        ("weak", 5, "n3", "job.rank_missing", NOON),
    ]
    assert [one.event.text for one in found] == [
        "rank 3 on n1 is dead for NCCL's RAS",
        "process 78 on n2 does not answer for NCCL's RAS",
        "rank 5 on n3 has launched 10 collectives where most have 20",
    ]
