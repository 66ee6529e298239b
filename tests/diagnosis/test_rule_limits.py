"""Rules of a diagnosis on both sides of their limits: last words, warnings, survivals, origins, interfaces."""

import pytest

from holdfast.catalog import job_problems
from holdfast.diagnosis.rules import collect, exits, hints, timeline
from holdfast.diagnosis.rules.diagnose import _unknown, diagnose
from holdfast.diagnosis.rules.next_step import decide
from holdfast.diagnosis.rules.waiting import suspects
from holdfast.diagnosis.rules.weighing import weigh
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, kernel, reported, wait, watchdog

TAIL = reported("tail", "note", "job.exception", code="error", text="boom  now", rank=4, host="n1")
DONE = reported("life", code="done")


@pytest.mark.parametrize(
    ("why", "evidence", "cause"),
    [
        ("the last error of a log", [TAIL], "job.exception"),
        ("the run goes on", [reported("tail", "note", "job.exception", steps_after="1")], None),
        ("no step was made after it", [reported("tail", "note", "job.exception", steps_after="0")], "job.exception"),
        ("the work of this file was done", [TAIL, DONE], None),
        ("that of another file", [TAIL, reported("life", code="done", file="b.log")], "job.exception"),
        ("it only began", [TAIL, reported("life", code="begin")], "job.exception"),
        ("another line is done", [TAIL, reported("save", code="done")], "job.exception"),
        ("the run had made steps", [TAIL, reported("steps")], "unknown"),
        (
            "steps, but a traceback",
            [reported("tail", "note", "job.exception", code="traceback"), reported("steps")],
            "job.exception",
        ),
        ("no last words", [reported("exception", "note", "job.exception")], None),
    ],
)
def test_last_words(why: str, evidence: list[Evidence], cause: str | None) -> None:
    assert [one.name for one in hints.last_words(evidence)] == ([cause] if cause else []), why


def test_last_words_are_quoted_in_part() -> None:
    (one,) = hints.last_words([TAIL, reported("tail", "note", "job.nan")])
    assert (one.name, one.confidence, one.ranks, one.host) == ("job.exception", 0.35, (4,), "n1")
    assert one.note == "its last error is: boom now"
    (long,) = hints.last_words([reported("tail", "note", "job.exception", text="y" * 200, where="train.py:3")])
    assert (long.note, long.ranks) == (f"its last error is: {'y' * 160}, at train.py:3", ())


def test_problems_that_were_only_warned_of() -> None:
    warned = [reported("problem", "hint", "job.nan", problem="p", line=n, host="n1") for n in (1, 2)]
    others = [reported("problem", "note", "job.exception", problem="p"), reported("problem", "hint", "job.exception")]
    (one,) = hints.warned([*others, *warned])
    assert (one.name, one.confidence, one.host, one.evidence) == ("job.nan", 0.45, "n1", warned)
    assert hints.warned(others) == []
    assert hints.warned([reported("problem", "hint", "", problem="p")]) == [], "of no cause"


@pytest.mark.parametrize(
    ("kind", "text", "counts"),
    [
        ("rendezvous", "Socket Timeout", True),
        ("exception", "wait timeout after 300000ms", True),
        ("exception", "Wait timeout after 300000ms", True),
        ("exception", "the client timed out", True),
        ("exception", "an error", False),
        ("nccl", "timed out", False),
    ],
)
def test_a_busy_rank_counts_beside_a_store_that_timed_out(kind: str, text: str, counts: bool) -> None:
    busy = reported("eval", "hint", "job.rank_slow", rank=0)
    found = hints.candidates([busy, reported(kind, "note", text=text)], None)
    assert bool(found) is counts


@pytest.mark.parametrize(("kind", "memory"), [("loading", True), ("busy", True), ("save", False)])
def test_what_a_killed_process_was_doing(kind: str, memory: bool) -> None:
    killed = reported("exit", "exit", signal="9", host="n1")
    first, last = reported(kind, line=1), reported(kind, line=2)
    found = hints.candidates([first, last, killed, reported("exit", "exit", signal="9", host="n2")], None)
    assert [(one.name, one.host, one.evidence) for one in found] == (
        [("host.oom", "n1", [killed, last])] if memory else []
    )
    well = reported("exit", "note", signal="9")
    assert hints.candidates([first, well], None) == []


def test_two_retries_are_shown_of_many() -> None:
    retries = [reported("nccl.completion", "strong", "fabric.retry_exceeded", host=f"n{n}") for n in range(4)]
    (one,) = hints.candidates(retries, None)
    assert (one.name, one.host, one.evidence) == ("fabric.unreachable", "n0", retries[:2])


@pytest.mark.parametrize(
    ("worlds", "silent"),
    [(("100000",), 99_999), (("100001",), 0), (("2", "4"), 3), (("4", "2"), 3), (("100001", "2"), 0)],
)
def test_the_largest_world_counts_unless_it_cannot_be(worlds: tuple[str, ...], silent: int) -> None:
    given = [reported("x", rank=0, at=NOON), *(reported("xid", at=NOON, world=world) for world in worlds)]
    message = hints.unseen(given, [candidate("job.exception", reported("exception", "weak"))], None)
    assert [line.startswith("the log of rank") for line in message] == ([True] if silent else [])


def test_whose_kernel_log_is_missed() -> None:
    weak = reported("exception", "weak")
    placed, placeless = candidate("gpu.gsp", weak, host="n7"), candidate("gpu.gsp", weak)
    assert "the kernel log of n7," in hints.unseen([reported("x", at=NOON)], [placed], None)[0]
    assert "the kernel log of each node," in hints.unseen([reported("x", at=NOON)], [placeless], None)[0]


@pytest.mark.parametrize(
    ("signal", "known"),
    [
        ("11", "segfault"),
        ("7", "bus_error"),
        ("4", "illegal_instruction"),
        ("9", ""),
        ("6", "abort"),
        ("8", ""),
        ("1", ""),
    ],
)
def test_the_known_problem_behind_a_signal(signal: str, known: str) -> None:
    one = exits.candidate([reported("exit", "exit", signal=signal)])
    assert one is not None
    assert one.known == known


def test_an_end_without_a_signal_points_nowhere() -> None:
    assert exits.candidate([reported("exit", "exit", name="SIGWINCH")]) is None
    assert exits.candidate([reported("exit", "exit")]) is None
    unnamed = [reported("exit", "exit", first="yes", exit="1"), reported("exit", "exit", signal="9")]
    assert exits.candidate(unnamed) is None


@pytest.mark.parametrize(
    ("why", "one", "over"),
    [
        ("a call failed before NCCL connected", reported("nccl", "strong", code="call_failed", line=9, file="c.log"), True),
        ("in the line that says so", reported("nccl", "strong", code="call_failed", line=10, file="c.log"), False),
        ("after it", reported("nccl", "strong", code="call_failed", line=11, file="c.log"), False),
        ("in another file", reported("nccl", "strong", code="call_failed", line=9), False),
        ("something else before it", reported("nccl", "strong", code="x", line=9, file="c.log"), False),
        ("what only slows is not survived", reported("problem", "weak", "job.slowdown", line=9, file="d.log"), False),
        ("unless it is another kind of line", reported("steps?", "weak", "job.slowdown", line=9, file="d.log"), True),
        ("a problem that ends jobs is", reported("problem", "weak", "job.exception", line=9, file="d.log"), True),
        ("a problem without a cause is", reported("problem", "weak", line=9, file="d.log"), True),
    ],
)  # fmt: skip
def test_what_a_run_survived_of_calls_and_slowness(why: str, one: Evidence, over: bool) -> None:
    assert timeline.survived(one, timeline.Milestones({"d.log": 10}, {"c.log": 10})) is over, why


def test_without_a_word_of_connecting_a_failed_call_is_not_survived() -> None:
    assert not timeline.survived(reported("nccl", "strong", code="call_failed", line=0), timeline.Milestones({}))


def follower(kind: str = "xid", role: str = "effect", origin: str = "149") -> Evidence:
    return reported(kind, role, code="45", caused_by=origin)


@pytest.mark.parametrize(
    ("why", "evidence", "role", "cause"),
    [
        ("its origin was not given", [follower()], "likely", "gpu.nvlink"),
        ("its origin speaks for itself", [follower(), reported("xid", "strong", code="149")], "effect", ""),
        ("another line has that code", [follower(), reported("sxid", "strong", code="149")], "likely", "gpu.nvlink"),
        ("it names none", [reported("xid", "effect", code="45")], "effect", ""),
        ("no Xid", [follower("sxid")], "effect", ""),
        ("no effect", [follower(role="strong")], "strong", ""),
    ],
)
def test_a_follower_stands_for_an_origin_that_was_not_given(
    why: str, evidence: list[Evidence], role: str, cause: str
) -> None:
    first = timeline.with_named_origins(evidence)[0]
    assert (first.role, first.cause) == (role, cause), why


@pytest.mark.parametrize(("words", "host"), [(19, "n1"), (20, "")])
def test_the_first_twenty_words_of_a_name_are_read(words: int, host: str) -> None:
    asked = reported("asked", file="-".join(["w"] * words) + "-n1")
    placed = timeline.prepared([asked, reported("x", host="n1", file="b")])
    assert next(one.host for one in placed if one.event.kind == "asked") == host


@pytest.mark.parametrize(("length", "kept"), [(160, "y" * 160), (161, "y" * 157 + "...")])
def test_a_note_is_cut_where_it_is_too_long(length: int, kept: str) -> None:
    assert collect.short("y" * length) == kept
    assert collect.short(" a\n b ") == "a b"


@pytest.mark.parametrize(
    ("cause", "detail", "note"),
    [
        ("job.exception", {"where": "t.py:1"}, "exception x, at t.py:1"),
        ("job.exception", {}, "exception x"),
        ("job.exception", {"path": "/p"}, "exception x"),
        ("storage.corrupt", {"path": "/p"}, "exception x"),
        ("launcher.setup", {}, "exception x"),
        ("storage.full", {"path": "/p", "where": "t.py:1"}, "/p"),
        ("job.nan", {"where": "t.py:1"}, "t.py:1"),
        ("job.nan", {}, ""),
    ],
)
def test_the_note_of_an_exception(cause: str, detail: dict[str, str], note: str) -> None:
    (one,) = collect.candidates([reported("exception", "strong", cause, **detail)])  # type: ignore[arg-type]
    assert one.note == note


def test_a_port_that_is_up_in_the_same_moment_was_not_down() -> None:
    down, up = (
        reported("link", "strong", "fabric.port_down", at=NOON, host="n1", code=code, device="mlx5_0", file="k.log")
        for code in ("down", "up")
    )
    one = candidate("fabric.port_down", down)
    weigh([one], [down, up], None)
    assert one.factor == 0.1


def test_before_the_watchdog_fired_the_order_of_lines_says_nothing() -> None:
    fired = watchdog(0, at=NOON, line=50)
    timed, timeless = (reported("cuda", "weak", rank=0, line=51, at=at) for at in (NOON - 5, 0.0))
    for own, left in ((timed, 1.0), (timeless, 0.3)):
        one = candidate("job.illegal_access", own)
        weigh([one], [own, fired], wait(fired))
        assert one.factor == left


def interfaces(*names: str, code: str = "interface") -> Evidence:
    return reported("nccl.about", code=code, interfaces=" ".join(names))


@pytest.mark.parametrize(
    ("why", "evidence", "begins"),
    [
        ("a good one was seen as well", [interfaces("docker0", "ens3")], "ens3 (the log shows that NCCL took docker0,"),
        ("only inner ones", [interfaces("docker0", "veth1", "lo", "br-7")], "^lo,docker,veth,virbr,br-,cni,flannel,cali (the log shows that NCCL took docker0, veth1, lo,"),
        ("all can be reached", [interfaces("ens3")], None),
        ("another line", [interfaces("docker0", code="rank")], None),
    ],
)  # fmt: skip
def test_the_interface_to_use(why: str, evidence: list[Evidence], begins: str | None) -> None:
    unreachable = reported("nccl", "strong", "fabric.unreachable", problem="nccl_unreachable")
    step = decide([candidate("fabric.unreachable", unreachable)], evidence)
    result, fixed = step.settings["NCCL_SOCKET_IFNAME"], step.fix[0].removeprefix("NCCL_SOCKET_IFNAME=")
    assert result and fixed, why
    if begins is None:
        assert not any("the log shows" in one for one in (result, fixed)), why
    else:
        assert result == fixed, why
        assert result.startswith(begins), why


@pytest.mark.parametrize(
    ("cause", "evidence", "set_it"),
    [
        ("fabric.port_down", [], True),
        ("fabric.retry_exceeded", [], False),
        ("fabric.retry_exceeded", [reported("steps")], True),
        ("gpu.gsp", [reported("steps")], False),
    ],
)
def test_a_longer_timeout_helps_only_who_had_connected(cause: str, evidence: list[Evidence], set_it: bool) -> None:
    found = decide([candidate(cause, reported("x"), host="n1", base=0.8)], evidence)
    assert (found.settings.get("NCCL_IB_TIMEOUT", "").startswith("22 (")) is set_it


def names(*evidence: Evidence) -> list[str]:
    return [one.name for one in diagnose(evidence).causes]


RAISED = reported("exception", "strong", "job.nan", line=5)
CALL = reported("nccl", "strong", "job.nan", code="call_failed", line=5)


@pytest.mark.parametrize(
    ("why", "evidence", "found"),
    [
        ("the work was done after it", [RAISED, reported("life", code="done", line=9)], []),
        ("before it", [RAISED, reported("life", code="done", line=4)], ["job.nan"]),
        ("a save was done after it", [RAISED, reported("save", code="done", line=9)], ["job.nan"]),
        ("the job began after it", [RAISED, reported("life", code="begin", line=9)], ["job.nan"]),
        ("a call failed, then NCCL connected", [CALL, reported("nccl.about", code="rank", line=9)], []),
        ("another line of it", [CALL, reported("nccl.about", code="version", line=9)], ["job.nan"]),
        ("a rank of something else", [CALL, reported("gloo", code="rank", line=9)], ["job.nan"]),
    ],
)
def test_what_a_whole_log_says_was_survived(why: str, evidence: list[Evidence], found: list[str]) -> None:
    assert names(*evidence) == found, why


def test_one_warning_is_reported_of_a_bad_end_that_nothing_else_explains() -> None:
    failed = reported("exit", "exit", exit="3", line=9)
    warnings = [reported("problem", "hint", cause, problem="p") for cause in ("job.nan", "job.dataloader")]
    assert names(failed, *warnings) == ["job.nan"]
    assert names(failed) == ["unknown"]
    assert names(reported("exit", "exit", exit="0"), *warnings) == []


def test_an_unknown_end_is_of_who_waited_and_names_only_lost_peers() -> None:
    (waited,) = diagnose([watchdog(3, at=0.0)]).causes
    assert (waited.name, waited.ranks) == ("unknown", (3,))
    (ended,) = diagnose([reported("exit", "exit", exit="3"), reported("nccl", "note", peer="z<1>")]).causes
    assert (ended.ranks, ended.note) == ((), "the first sign is: exit x")


def test_beside_a_wait_the_first_sign_is_not_told() -> None:
    shown = reported("exception", "watchdog", rank=0, at=NOON, text="gave up")
    assert _unknown([shown], wait(shown)).note == ""
    assert _unknown([reported("exception", "effect", text="gave up")], None).note == "the first sign is: gave up"


@pytest.mark.parametrize(("role", "known"), [("note", "quiet_exit"), ("effect", "")])
def test_an_end_is_quiet_unless_a_collective_failed_as_its_effect(role: str, known: str) -> None:
    (ended,) = diagnose([reported("exit", "exit", exit="3"), reported("nccl.about", role)]).causes
    assert (ended.name, ended.known) == ("unknown", known)


@pytest.mark.parametrize("code", [2, 64, 65, 100, 127, 128, 160, 255])
def test_an_exit_code_outside_of_signals_is_none(code: int) -> None:
    assert exits.signal_of(reported("exit", "exit", exit=str(code))) == 0


def test_only_a_save_can_be_an_unfinished_one() -> None:
    waiting = wait(watchdog(0, at=NOON, ran_ms="600000"))
    assert hints.candidates([reported("life", code="begin", at=NOON - 610)], waiting) == []
    assert hints.candidates([reported("save", code="failed", at=NOON - 610)], waiting) == []


@pytest.mark.parametrize(("paths", "note"), [((), ""), (("/a",), "/a"), (("/a", "/b", "/c"), "/c")])
def test_the_last_save_names_the_storage(paths: tuple[str, ...], note: str) -> None:
    stall = candidate("storage.stall", reported("x"))
    given = [reported("save", code="begin", path=path) for path in paths]
    hints.name_the_storage([stall], [*given, reported("load", path="/other")])
    assert stall.note == note


def missed(*evidence: Evidence) -> str:
    return " | ".join(hints.unseen(evidence, [candidate("job.exception", reported("exception", "weak"))], None))


def test_times_are_missed_where_no_line_of_two_files_has_one() -> None:
    one, other = reported("x"), reported("x", file="b.log")
    assert "times: no line has one" in missed(one, other)
    assert "times" not in missed(one, one)
    assert "times" not in missed(one, reported("x", file="b.log", at=NOON))


def test_a_cause_without_a_row_has_a_next_step_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.diagnosis.rules.candidate.job_problems.of_cause", lambda cause: None)
    found = decide([candidate("storage.stall", reported("x"))], [])
    assert (found.action, found.settings, found.fix) == ("wait_for_storage", {}, ())
    assert (found.verify, found.link, found.report_to) == ("", "", "")
    (one,) = collect.candidates([reported("x", "strong", "job.exception", text="boom")])
    assert one.note == "boom"


def test_the_interface_is_reported_only_to_who_sets_one() -> None:
    found = decide([candidate("gpu.gsp", reported("xid", "strong"), host="n1")], [interfaces("docker0")])
    assert "NCCL_SOCKET_IFNAME" not in found.settings
    assert not any("NCCL_SOCKET_IFNAME" in one for one in found.fix)


def test_the_cluster_team_reads_the_first_two_hundred_letters() -> None:
    owned = [one for one in job_problems.problems() if one.owner == "cluster" and one.is_default]
    shown = reported("x", "strong", text="y" * 300)
    result = decide([candidate(owned[0].cause, shown, host="n1")], []).report_to
    assert result.endswith(f" The log says: {'y' * 200}")
    assert decide([candidate("job.nan", shown)], []).report_to == ""


def test_one_line_that_says_again_is_enough() -> None:
    once, again = (reported("exception", "strong", code="RuntimeError", **more) for more in ({}, {"again": "yes"}))
    assert decide([candidate("job.exception", once, again)], []).action == "stop"
    assert decide([candidate("job.exception", once, once)], []).action == "restart_same"


def test_a_save_without_a_step_is_taken_for_the_first() -> None:
    def saved(path: str, at: float, **step: str) -> Evidence:
        return reported("save", code="end", path=path, at=at, **step)

    nan = candidate("job.nan", reported("steps", step=1.0), base=0.6)
    assert decide([nan], [saved("/a", NOON)]).checkpoint == "/a (step ?)"
    crash = candidate("job.exception", reported("exception", "strong"))
    assert decide([crash], [saved("/a", NOON), saved("/b", NOON - 9, step="1")]).checkpoint == "/b (step 1)"


def test_an_origin_that_is_no_gpu_stands_for_nothing() -> None:
    of_the_job = follower(origin="13")
    assert timeline.with_named_origins([of_the_job]) == [of_the_job]


def test_who_names_no_operation_differs_from_no_one() -> None:
    def result(rank: int, **detail: str) -> Evidence:
        return watchdog(rank, at=0.0, line=rank + 1, seq="7", **detail)

    def mismatch(*evidence: Evidence) -> list[tuple[tuple[int, ...], int]]:
        found = suspects(wait(*evidence), evidence)
        return [(one.ranks, len(one.evidence)) for one in found if one.name == "job.collective_mismatch"]

    small, large, silent = result(0, op="ALLREDUCE", numel_in="1"), result(1, op="ALLREDUCE", numel_in="2"), result(2)
    assert mismatch(small, silent) == []
    assert mismatch(small, large) == [((1,), 2)]
    assert mismatch(small, large, silent) == [((1,), 2)]


@pytest.mark.parametrize(("number", "missing"), [(-1, True), (0, False)])
def test_a_rank_that_enqueued_nothing_is_behind(number: int, missing: bool) -> None:
    given = [watchdog(rank, at=0.0, line=rank, seq="1", enqueued=str(n)) for rank, n in enumerate((1, 1, number, 1))]
    assert ("job.rank_missing" in {one.name for one in suspects(wait(*given), given)}) is missing


def test_where_no_one_is_known_to_wait_no_one_is_missing() -> None:
    given = [watchdog(None, at=0.0), reported("nccl.about", world="1")]
    assert suspects(wait(given[0]), given) == []


def left(cause: str, own: list[Evidence], *others: Evidence, waiting: bool = False) -> float:
    one = candidate(cause, *own)
    weigh([one], [*own, *others], wait(*others) if waiting else None)
    return one.factor


def test_a_word_without_a_time_is_no_end_of_the_job() -> None:
    timed, timeless = (reported("exception", "effect", at=at, rank=1) for at in (NOON, 0.0))
    assert left("gpu.gsp", [kernel("xid", "gpu.gsp", NOON - 901.0)], timed, timeless) == 0.25
    assert left("gpu.gsp", [kernel("xid", "gpu.gsp", NOON - 901.0, last_at="")], timed) == 0.25


def test_where_the_watchdog_reports_no_time_lines_count_though_the_cause_has_one() -> None:
    own = reported("cuda", "weak", rank=0, line=51, at=NOON)
    assert left("job.illegal_access", [own], watchdog(0, at=0.0, line=50), waiting=True) == 0.3


def port(code: str, at: float, kind: str = "link") -> Evidence:
    return reported(kind, "strong", "fabric.port_down", at=at, host="n1", code=code, device="mlx5_0", file="k.log")


@pytest.mark.parametrize(
    ("why", "own", "up", "factor"),
    [
        ("another line of the port speaks for it", [port("down", NOON), port("x", NOON, "mlx5")], port("up", NOON + 1), 1.0),
        ("a time that is none", [port("down", 0.0)], port("up", 1.0), 1.0),
        ("another kind of line says up", [port("down", NOON)], port("up", NOON + 1, "nic"), 1.0),
        ("up", [port("down", NOON)], port("up", NOON + 1), 0.1),
        ("it went down again", [port("down", NOON)], port("down", NOON + 1), 1.0),
    ],
)  # fmt: skip
def test_what_forgives_a_port(why: str, own: list[Evidence], up: Evidence, factor: float) -> None:
    assert left("fabric.port_down", own, up) == factor, why


def test_storage_that_answered_at_no_time_is_not_back() -> None:
    fired = watchdog(0, at=NOON, ran_ms="600000")
    gone, back = (
        reported("storage", "strong", "storage.stall", at=at, host="n1", code=code, file="k.log")
        for at, code in ((NOON - 1000, "not_responding"), (0.0, "ok"))
    )
    one = candidate("storage.stall", gone)
    weigh([one], [gone, back, fired], wait(fired))
    assert one.factor == 1.0


@pytest.mark.parametrize(("cause", "asked"), [("unknown", True), ("job.exception", False)])
def test_what_a_process_wrote_last_is_missed_only_of_an_unknown_end(cause: str, asked: bool) -> None:
    root = candidate(cause, reported("exception", "weak"))
    message = hints.unseen([reported("exit", "exit", rank=1, exit="3", at=NOON)], [root], None)
    assert any("ended with exit code 3" in line for line in message) is asked
