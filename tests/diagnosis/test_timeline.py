"""Evidence on one clock: years, hosts, exceptions that follow, what a run survived; and candidates from it."""

import calendar
from dataclasses import replace

import pytest

from holdfast.diagnosis.rules import collect, timeline
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, reported


def at(year: int, month: int = 3, day: int = 4) -> float:
    return float(calendar.timegm((year, month, day, 10, 0, 0)))


def moments(*given: float) -> list[float]:
    return [one.at for one in timeline.prepared([reported("x", at=moment, line=n) for n, moment in enumerate(given)])]


@pytest.mark.parametrize(
    ("why", "given", "dated"),
    [
        ("the year of the others", [at(1972), at(2026, 3, 5)], [at(2026), at(2026, 3, 5)]),
        ("that of most of them", [at(1972), at(2025), at(2026), at(2026, 5)], [at(2025), at(2026), at(2026), at(2026, 5)]),
        ("nobody tells a year", [at(1972), at(1972, 5)], [at(1972), at(1972, 5)]),
        ("a clock that was never set is no year", [at(1972), at(1970)], [at(1970), at(1972)]),
        ("a fraction is kept", [at(1972) + 0.5, at(2026, 3, 5)], [at(2026) + 0.5, at(2026, 3, 5)]),
        ("a day that the year does not have", [at(1972, 2, 29), at(2026, 3, 5)], [at(1972, 2, 29), at(2026, 3, 5)]),
        ("without a time: last", [0.0, at(2026)], [at(2026), 0.0]),
        ("digits that were no time", [1e30, at(2026), -5e10], [at(2026), 0.0, 0.0]),
    ],
)  # fmt: skip
def test_a_stamp_without_a_year(why: str, given: list[float], dated: list[float]) -> None:
    assert moments(*given) == dated, why


def test_of_one_moment_the_order_of_files_and_lines() -> None:
    given = [reported("x", file="b", line=1), reported("x", file="a", line=9), reported("x", file="a", line=2)]
    assert [(one.file, one.event.line) for one in timeline.prepared(given)] == [("a", 2), ("a", 9), ("b", 1)]


def host_of(one: Evidence, *others: Evidence) -> str:
    return next(found.host for found in timeline.prepared([one, *others]) if found.event.kind == "asked")


@pytest.mark.parametrize(
    ("why", "asked", "others", "host"),
    [
        ("its own word", reported("asked", host="n9", rank=1), [reported("x", rank=1, host="n1")], "n9"),
        ("that of its rank", reported("asked", rank=1), [reported("x", rank=1, host="n1", file="b")], "n1"),
        ("another rank is another", reported("asked", rank=2), [reported("x", rank=1, host="n1", file="b")], ""),
        ("that its file is named after", reported("asked", file="logs/n1.out"), [reported("x", host="n1", file="b")], "n1"),
        ("that a folder is named after", reported("asked", file="n1/a/b.out"), [reported("x", host="n1", file="b")], "n1"),
        ("a folder too far up says nothing", reported("asked", file="n1/a/b/c.out"), [reported("x", host="n1", file="b")], ""),
        ("the longest name", reported("asked", file="n1-a.out"), [reported("x", host="n1", file="b"), reported("x", host="n1-a", file="b")], "n1-a"),
        ("the only one its file tells of", reported("asked"), [reported("x", host="n1"), reported("y", host="n1")], "n1"),
        ("its file tells of two", reported("asked"), [reported("x", host="n1"), reported("y", host="n2")], ""),
    ],
)  # fmt: skip
def test_the_host_of_a_line_that_names_none(why: str, asked: Evidence, others: list[Evidence], host: str) -> None:
    assert host_of(asked, *others) == host, why


def test_a_name_of_very_many_words_is_read_in_part() -> None:
    known = reported("x", host="n1", file="b")
    assert host_of(reported("asked", file="-".join(["w"] * 18) + "-n1"), known) == "n1"
    assert host_of(reported("asked", file="-".join(["w"] * 25) + "-n1"), known) == ""


def raised(line: int, rank: int = 0, file: str = "a.log", **detail: str) -> Evidence:
    return reported("exception", "strong", "job.exception", line=line, rank=rank, file=file, **detail)


@pytest.mark.parametrize(
    ("why", "evidence", "roles"),
    [
        ("the second was raised from the first", [raised(1), raised(2, chained="yes")], ["strong", "effect"]),
        ("whatever the order it is read in", [raised(2, chained="yes"), raised(1)], ["strong", "effect"]),
        ("it was raised by itself", [raised(1), raised(2)], ["strong", "strong"]),
        ("a look-up that failed, whose handler failed", [raised(1, code="KeyError"), raised(2, code="ValueError", chained="handling")], ["effect", "strong"]),
        ("one that was raised as the cause of the second", [raised(1, code="KeyError"), raised(2, code="ValueError", chained="cause")], ["strong", "effect"]),
        ("another look-up", [raised(1, code="KeyError"), raised(2, code="KeyError", chained="handling")], ["strong", "effect"]),
        ("of another rank", [raised(1), raised(2, rank=1, chained="yes")], ["strong", "strong"]),
        ("in another file", [raised(1), raised(2, file="b.log", chained="yes")], ["strong", "strong"]),
        ("from one that speaks for nothing", [reported("exception", rank=0), raised(2, chained="yes")], ["note", "strong"]),
        ("from a line that is no exception", [reported("cuda", "strong", "gpu.gsp", rank=0), raised(2, chained="yes")], ["strong", "strong"]),
    ],
)  # fmt: skip
def test_of_exceptions_raised_one_from_the_other_the_first_reports(
    why: str, evidence: list[Evidence], roles: list[str]
) -> None:
    kept = timeline.without_followers(evidence)
    assert [one.role for one in kept] == roles, why
    assert all(not one.cause for one in kept if one.role == "effect")


def test_after_that_they_stand_in_the_order_of_time() -> None:
    given = [reported("x", at=NOON, line=1), reported("x", at=NOON - 5, line=2), reported("x", line=3)]
    assert [one.at for one in timeline.without_followers(given)] == [NOON - 5, NOON, 0.0]


@pytest.mark.parametrize(
    ("why", "one", "over"),
    [
        ("five steps after it", reported("exception", "strong", rank=3, steps_after="5"), True),
        ("four may be of other ranks", reported("exception", "strong", rank=3, steps_after="4"), False),
        ("three steps where no rank is named", reported("exception", "strong", steps_after="3"), True),
        ("two steps where no rank is named", reported("exception", "strong", steps_after="2"), False),
        ("known by its words alone", reported("problem", "strong", "job.cuda_oom", steps_after="3"), True),
        ("a NaN goes on for many steps", reported("numbers", "strong", "job.nan", steps_after="4"), False),
        ("tried again, then a step", reported("files", "weak", "storage.stall", retried="yes", steps_after="1"), True),
        (
            "tried again, then nothing",
            reported("files", "weak", "storage.stall", retried="yes", steps_after="0"),
            False,
        ),
        ("a wait, then a step", reported("files", "weak", "storage.stall", code="lagging", steps_after="1"), True),
        ("a wait, then none", reported("files", "weak", "storage.stall", code="lagging", steps_after="0"), False),
        ("not tried again, then a step", reported("files", "weak", "storage.stall", steps_after="1"), False),
        ("tried again, then saved", reported("files", "weak", retried="yes", line=9, file="s.log"), True),
        (
            "tried again in the line that says so",
            reported("files", "weak", retried="yes", line=10, file="s.log"),
            False,
        ),
        ("saved, then tried again", reported("files", "weak", retried="yes", line=11, file="s.log"), False),
        ("told to end, then saved", reported("exit", "effect", code="agent", line=9, file="s.log"), True),
        ("saved, then told to end", reported("exit", "effect", code="agent", line=11, file="s.log"), False),
        ("killed, whatever is saved", reported("exit", "exit", code="agent", line=9, file="s.log"), False),
        ("a note is no trouble", reported("x", "note", steps_after="50"), False),
        ("an end ends", reported("exit", "exit", steps_after="50"), False),
        ("what goes on goes on", reported("steps", "strong", steps_after="50"), False),
        ("before the work was done", reported("exception", "strong", line=9, file="d.log"), True),
        ("after it was done", reported("exception", "strong", line=11, file="d.log"), False),
        ("in the line that says so", reported("exception", "strong", line=10, file="d.log"), False),
        ("who ends after that closes connections", reported("nccl", "effect", line=11, file="d.log"), True),
        ("who closes them elsewhere lost a peer", reported("nccl", "effect", line=11), False),
    ],
)
def test_what_a_run_survived(why: str, one: Evidence, over: bool) -> None:
    assert timeline.survived(one, timeline.Milestones({"d.log": 10}, saved={"s.log": 10})) is over, why


@pytest.mark.parametrize("kind", ["steps", "nccl.plugin", "exit", "slurm", "kubernetes"])
def test_what_no_one_survives(kind: str) -> None:
    assert not timeline.survived(reported(kind, "strong", steps_after="50"), timeline.Milestones({}))


def collected(*evidence: Evidence) -> list[tuple[str, str, str, tuple[int, ...], str]]:
    return [(one.name, one.host, one.device, one.ranks, one.note) for one in collect.candidates(evidence)]


@pytest.mark.parametrize(
    ("why", "evidence", "found"),
    [
        ("one GPU in two spellings", [reported("xid", "strong", "gpu.gsp", host="n1", device="0000:9B:00"), reported("nvml", "weak", "gpu.gsp", host="n1", device="00000000:9b:00.0")], [("gpu.gsp", "n1", "0000:9B:00", (), "")]),
        ("two GPUs of a host", [reported("xid", "strong", "gpu.gsp", host="n1", device="0000:9b:00"), reported("xid", "strong", "gpu.gsp", host="n1", device="0000:9c:00")], [("gpu.gsp", "n1", "0000:9b:00", (), ""), ("gpu.gsp", "n1", "0000:9c:00", (), "")]),
        ("a port is of its host", [reported("link", "strong", "fabric.hca", host="n1"), reported("link", "strong", "fabric.hca", host="n1", device="mlx5_0")], [("fabric.hca", "n1", "mlx5_0", (), "")]),
        ("two hosts", [reported("x", "strong", "host.oom", host="n1"), reported("x", "strong", "host.oom", host="n2")], [("host.oom", "n1", "", (), ""), ("host.oom", "n2", "", (), "")]),
        ("a job's cause has no place", [reported("x", "strong", "job.nan", host="n1"), reported("x", "strong", "job.nan", host="n2", rank=3)], [("job.nan", "n1", "", (3,), "")]),
        ("notes, effects and hints point nowhere", [reported("x", role, "job.nan") for role in ("note", "effect", "hint", "exit")], []),
        ("what speaks for nothing", [reported("x", "strong")], []),
        ("the ranks that lines name", [reported("x", "strong", "job.rank_missing", rank=7, ranks="3, 1,x")], [("job.rank_missing", "", "", (1, 3), "")]),
        ("who says so, where they name nobody", [reported("x", "strong", "job.exception", rank=7), reported("x", "weak", "job.exception", rank=2)], [("job.exception", "", "", (2, 7), "x x")]),
        ("what is said of the best of it", [reported("x", "weak", "job.exception", says="weak"), reported("x", "strong", "job.exception", path="/p", reason="r")], [("job.exception", "", "", (), "/p")]),
        ("where, but not of storage", [reported("x", "strong", "job.exception", where="here"), reported("x", "strong", "storage.full", where="there")], [("job.exception", "", "", (), "here"), ("storage.full", "", "", (), "")]),
        ("the peers", [reported("x", "strong", "job.exception", peer=f"10.0.0.{n}<40>") for n in (5, 1, 2, 3, 4, 1)], [("job.exception", "", "", (), "peer 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4")]),
        ("a rank tells what its host's log tells too", [reported("x", "weak", "gpu.gsp", rank=3), reported("xid", "strong", "gpu.gsp", host="n1")], [("gpu.gsp", "n1", "", (3,), "")]),
        ("of which of two hosts nobody knows", [reported("x", "weak", "gpu.gsp", rank=3), *(reported("xid", "strong", "gpu.gsp", host=host) for host in ("n1", "n2"))], [("gpu.gsp", "", "", (3,), ""), ("gpu.gsp", "n1", "", (), ""), ("gpu.gsp", "n2", "", (), "")]),
        ("another cause is another", [reported("x", "weak", "gpu.gsp", rank=3), reported("xid", "strong", "gpu.nvlink", host="n1")], [("gpu.gsp", "", "", (3,), ""), ("gpu.nvlink", "n1", "", (), "")]),
    ],
)  # fmt: skip
def test_what_points_to_a_cause_gathered_by_subject(why: str, evidence: list[Evidence], found: list[object]) -> None:
    assert collected(*evidence) == found, why


def test_a_candidate_without_evidence_of_a_kind_has_none() -> None:
    assert candidate("gpu.gsp", reported("x", "strong")).place == ("a.log", 1)


def test_a_line_without_a_host_does_not_take_away_the_host_of_its_rank() -> None:
    named, asked = reported("x", rank=1, host="n1", file="b"), reported("asked", rank=1)
    for given in ([named, asked], [asked, named]):
        assert [one.host for one in timeline.prepared(given)] == ["n1", "n1"]
    assert {one.host for one in timeline.prepared([reported("x", host="n1", file="b"), reported("asked")])} == {
        "n1",
        "",
    }


@pytest.mark.parametrize(
    ("kind", "file", "role"),
    [("slurm", "s.log", "effect"), ("slurm", "b.log", "exit"), ("kubernetes", "s.log", "exit")],
)
def test_only_slurm_cancels_the_other_tasks_of_a_job_when_one_fails(kind: str, file: str, role: str) -> None:
    failed = reported("slurm", "exit", file="s.log", line=1)
    cancelled = reported(
        kind,
        "exit" if kind != "slurm" or file != "s.log" else "strong",
        "host.killed",
        code="cancelled",
        file=file,
        line=2,
    )
    assert timeline.without_followers([failed, cancelled])[-1].role == role


@pytest.mark.parametrize(
    ("times", "lines", "role"), [(2, "2", "hint"), (2, "1", "weak"), (3, "2", "weak"), (3, "3", "hint")]
)
def test_what_is_repeated_three_times_is_passed_only_by_three_calm_lines(times: int, lines: str, role: str) -> None:
    one = reported("storage", "weak", "storage.stall", calm_end=lines)
    (found,) = timeline.as_hints([replace(one, event=replace(one.event, count=times))])
    assert found.role == role


@pytest.mark.parametrize(
    ("why", "detail", "count", "role"),
    [
        ("ended by SIGTERM", {"signal": "15"}, 1, "note"),
        ("a worker that was started again", {"exit": "1", "lines_after": "2"}, 2, "note"),
        ("one that is started again and again", {"exit": "1", "lines_after": "2"}, 3, "exit"),
        ("one that was not started again", {"exit": "1", "lines_after": "1"}, 1, "exit"),
    ],
)
def test_which_exits_are_over(why: str, detail: dict[str, str], count: int, role: str) -> None:
    one = reported("exit", "exit", **detail)
    assert timeline._as_hint(replace(one, event=replace(one.event, count=count))).role == role, why


@pytest.mark.parametrize(("problem", "over"), [("kubernetes_scheduling", True), ("cloud_capacity", False)])
def test_events_of_a_pod_that_was_placed_have_no_order_in_the_list(problem: str, over: bool) -> None:
    one = reported("problem", "strong", "launcher.setup", problem=problem, line=50, file="p.log")
    assert timeline.survived(one, timeline.Milestones({}, placed={"p.log": 10})) is over
