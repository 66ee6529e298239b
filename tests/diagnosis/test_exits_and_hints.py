"""What the end of a process says, what only means something beside a wait, and what nobody could see."""

import pytest

from holdfast.diagnosis.rules import exits, hints
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.waiting import Waiting
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, reported, wait, watchdog


def ended(rank: int | None = None, *, code: str = "x", host: str = "", **detail: str) -> Evidence:
    return reported("exit", "exit", rank=rank, code=code, host=host, **detail)


@pytest.mark.parametrize(
    ("detail", "signal"),
    [
        ({"signal": "9", "exit": "1"}, 9), ({"exit": "-11"}, 11), ({"exit": "137"}, 9), ({"exit": "129"}, 1),
        ({"exit": "128"}, 0), ({"exit": "159"}, 31), ({"exit": "160"}, 0), ({"exit": "1"}, 0), ({"exit": "0"}, 0), ({}, None),
        ({"name": "SIGKILL"}, 9), ({"name": "SIGSEGV"}, 11), ({"name": "SIGBUS"}, 7), ({"name": "SIGABRT"}, 6),
        ({"name": "SIGTERM"}, 15), ({"name": "SIGILL"}, 4), ({"name": "SIGFPE"}, 8), ({"name": "SIGINT"}, 2),
        ({"name": "Killed"}, 9), ({"name": "Segmentation fault"}, 11), ({"name": "Bus error"}, 7), ({"name": "Aborted"}, 6),
        ({"name": "Illegal instruction"}, 4), ({"name": "SIGWINCH"}, None),
    ],
)  # fmt: skip
def test_the_signal_that_ended_a_process(detail: dict[str, str], signal: int | None) -> None:
    assert exits.signal_of(ended(**detail)) == signal


@pytest.mark.parametrize(
    ("detail", "failed"), [({"exit": "0"}, False), ({"exit": "1"}, True), ({"exit": "-9"}, True), ({}, True), ({"signal": "0"}, False)]
)  # fmt: skip
def test_who_failed(detail: dict[str, str], failed: bool) -> None:
    assert exits.failed(ended(**detail)) is failed
    assert not exits.failed(reported("job", "note", exit="1"))


@pytest.mark.parametrize(
    ("signal", "cause", "sure"),
    [
        (9, "host.killed", 0.5), (11, "job.exception", 0.6), (7, "job.dataloader", 0.5), (4, "job.exception", 0.5),
        (8, "job.exception", 0.5), (6, "job.exception", 0.32), (2, "host.killed", 0.4), (1, "host.killed", 0.45),
    ],
)  # fmt: skip
def test_what_a_signal_says(signal: int, cause: str, sure: float) -> None:
    one = exits.candidate([ended(3, signal=str(signal), host="n1")])
    assert one is not None
    assert (one.name, one.confidence, one.ranks, one.host) == (cause, sure, (3,), "n1")


def test_who_was_ended_by_the_launcher_reports_nothing_unless_it_is_the_launcher() -> None:
    assert exits.candidate([ended(3, signal="15")]) is None
    launcher = exits.candidate([ended(code="agent", signal="15")])
    assert launcher is not None
    assert (launcher.name, launcher.confidence) == ("host.killed", 0.4)


def test_the_first_end_reports_and_those_alike_belong_to_it() -> None:
    many = [ended(n, signal="9") for n in range(5)]
    one = exits.candidate([ended(7, exit="1"), ended(8, signal="12"), *many, ended(9, signal="11")])
    assert one is not None
    assert (one.ranks, [item.rank for item in one.evidence]) == ((0, 1, 2, 3, 4), [0, 1, 2])
    called = exits.candidate([*many, ended(9, signal="11", first="yes")])
    assert called is not None
    assert called.ranks == (9,)
    assert exits.candidate([ended(1, exit="1")]) is None
    assert exits.candidate([ended(1, exit="0")]) is None


def found(*evidence: Evidence, waiting: Waiting | None = None) -> dict[str, Candidate]:
    return {one.name: one for one in hints.candidates(evidence, waiting)}


SINCE = NOON - 600.0
WAIT = wait(watchdog(0, at=NOON, ran_ms="600000"))
SILENT = wait(watchdog(0, at=0.0))


def save(code: str, at: float = 0.0, line: int = 1, **detail: str) -> Evidence:
    return reported("save", code=code, at=at, line=line, rank=0, path="/ckpt/7", **detail)


@pytest.mark.parametrize(
    ("why", "saves", "waiting", "stalled"),
    [
        ("it began just before the wait", [save("begin", SINCE - 10)], WAIT, True),
        ("a quarter of an hour before", [save("begin", SINCE - 900)], WAIT, True),
        ("longer before", [save("begin", SINCE - 901)], WAIT, False),
        ("clocks differ by five minutes", [save("begin", SINCE + 300)], WAIT, True),
        ("after the wait began", [save("begin", SINCE + 301)], WAIT, False),
        ("it ended", [save("begin", SINCE - 20), save("end", SINCE - 10)], WAIT, False),
        ("one ended, the next did not", [save("end", SINCE - 20), save("begin", SINCE - 10)], WAIT, True),
        ("no time is reported: the lower line is later", [save("begin", line=9), save("end", line=3)], SILENT, True),
        ("steps were made after it", [save("begin", SINCE - 10, steps_after="2")], WAIT, False),
        ("one step may be of another rank", [save("begin", SINCE - 10, steps_after="1")], WAIT, True),
        ("no time of the save", [save("begin")], WAIT, True),
        ("no time of the wait", [save("begin", SINCE - 9999)], SILENT, True),
        ("nobody waits", [save("begin", SINCE - 10)], None, False),
        ("no save", [], WAIT, False),
    ],
)
def test_a_save_that_never_ended(why: str, saves: list[Evidence], waiting: Waiting | None, stalled: bool) -> None:
    one = found(*saves, waiting=waiting).get("storage.stall")
    assert (one is not None) is stalled, why
    if one is not None:
        assert (one.confidence, one.note, one.ranks) == (0.6, "/ckpt/7", (0,))


def test_a_task_that_hangs_in_storage_makes_an_unfinished_save_surer() -> None:
    hung = [reported("hung_task", "hint", "storage.stall", line=n) for n in range(4)]
    one = found(save("begin", SINCE - 10), *hung, waiting=WAIT)["storage.stall"]
    assert (one.confidence, len(one.evidence)) == (0.75, 3)
    other = found(save("begin", SINCE - 10), reported("x", "hint", "job.rank_slow"), reported("x", "note", "storage.stall"), waiting=WAIT)  # fmt: skip
    assert other["storage.stall"].confidence == 0.6


def test_a_rank_that_was_busy_elsewhere_counts_beside_a_wait() -> None:
    busy = reported("eval", "hint", "job.rank_slow", rank=0, text="y" * 80)
    later = reported("eval", "hint", "job.rank_slow", rank=3, text="z" * 80)
    one = found(busy, later, waiting=WAIT)["job.rank_slow"]
    assert (one.ranks, one.confidence, one.note) == ((3,), 0.55, "z" * 60)
    assert found(busy) == {}
    for line in (1, 99):  # before the watchdog fired, or all of them after that
        bars = [
            reported("eval", "hint", "job.rank_slow", rank=rank, line=line, text=f"bar {rank}") for rank in range(4)
        ]
        last = found(*bars, waiting=WAIT)["job.rank_slow"]
        assert (last.evidence, last.ranks, last.note) == ([bars[3]], (3,), "bar 3")
    assert (
        found(reported("eval", "hint", "storage.stall"), reported("eval", "note", "job.rank_slow"), waiting=WAIT) == {}
    )


RETRIES = reported("nccl.completion", "strong", "fabric.retry_exceeded", host="n1")


@pytest.mark.parametrize(
    ("why", "evidence", "never"),
    [
        ("before the first step", [RETRIES], True),
        ("it had made steps", [RETRIES, reported("steps")], False),
        ("another completion", [reported("nccl.completion", "effect")], False),
        ("another line of that cause", [reported("nccl", "strong", "fabric.retry_exceeded")], False),
    ],
)
def test_a_peer_that_never_acknowledged_anything(why: str, evidence: list[Evidence], never: bool) -> None:
    one = found(*evidence).get("fabric.unreachable")
    assert (one is not None) is never, why
    if one is not None:
        assert (one.confidence, one.host) == (0.4, "n1")


KILLED = ended(0, signal="9", host="n1")


@pytest.mark.parametrize(
    ("why", "evidence", "memory"),
    [
        ("while it loaded weights", [reported("loading"), KILLED], True),
        ("long after", [reported("loading"), reported("steps"), KILLED], False),
        ("it loaded nothing", [KILLED], False),
        ("it ended otherwise", [reported("loading"), ended(0, signal="11")], False),
    ],
)
def test_killed_while_loading_is_most_often_memory(why: str, evidence: list[Evidence], memory: bool) -> None:
    one = found(*evidence).get("host.oom")
    assert (one is not None) is memory, why
    if one is not None:
        assert (one.confidence, one.host, len(one.evidence)) == (0.55, "n1", 2)


def network(host: str, name: str, code: str = "network") -> Evidence:
    return reported("nccl.plugin", code=code, host=host, network=name)


@pytest.mark.parametrize(
    ("why", "evidence", "odd"),
    [
        ("one host took sockets", [network("n1", "IB"), network("n2", "Socket"), network("n3", "IB")], "n2"),
        ("all of them did", [network("n1", "Socket"), network("n2", "Socket")], None),
        ("none did", [network("n1", "IB"), network("n2", "IB")], None),
        ("another line", [network("n1", "IB"), network("n2", "Socket", code="loaded")], None),
        ("nobody says which host", [network("n1", "IB"), network("", "Socket")], None),
    ],
)
def test_a_host_that_took_sockets_where_the_others_took_the_fabric(
    why: str, evidence: list[Evidence], odd: str | None
) -> None:
    one = found(*evidence).get("fabric.plugin_fallback")
    assert (None if one is None else (one.host, one.confidence, len(one.evidence))) == (odd and (odd, 0.7, 1)), why


def test_an_error_of_a_write_takes_the_path_of_the_save_it_ended() -> None:
    saves = [
        reported("save", code="begin", path="/a"),
        reported("save", code="begin", path="/b"),
        reported("save", code="end"),
    ]
    stall, noted, placed = (
        candidate("storage.stall", reported("x"), **more) for more in ({}, {"note": "/own"}, {"device": "sda"})
    )
    other = candidate("job.exception", reported("x"))
    hints.name_the_storage([stall, noted, placed, other], saves)
    assert [one.note for one in (stall, noted, placed, other)] == ["/b", "/own", "", ""]
    hints.name_the_storage([placed], [])


ROOT = candidate("job.exception", reported("exception", "weak"))
UNKNOWN = candidate("unknown", reported("exception", "strong"))
AT = reported("steps", at=NOON)


def unseen(*evidence: Evidence, root: Candidate = ROOT, waiting: Waiting | None = None) -> str:
    return " | ".join(hints.unseen(evidence, [root], waiting))


@pytest.mark.parametrize(
    ("words", "without", "with_it"),
    [
        ("kernel log", unseen(AT), unseen(AT, reported("xid"))),
        ("Flight Recorder", unseen(AT, waiting=WAIT), unseen(AT, reported("flight_recorder"), waiting=WAIT)),
        ("NCCL itself", unseen(AT, waiting=WAIT), unseen(AT, reported("nccl.about"), waiting=WAIT)),
        ("times: no line", unseen(reported("steps"), reported("x", file="b.log")), unseen(AT, reported("x", file="b.log"))),
        ("the log of rank 1", unseen(reported("x", rank=0), reported("x", world="2")), unseen(reported("x", rank=0), reported("x", rank=1), reported("x", world="2"))),
        ("exit code 3", unseen(ended(1, exit="3"), root=UNKNOWN), unseen(ended(1, exit="3"))),
    ],
)  # fmt: skip
def test_what_would_have_reported_more(words: str, without: str, with_it: str) -> None:
    assert words in without
    assert words not in with_it


@pytest.mark.parametrize(
    ("name", "sure", "missed"),
    [
        ("launcher.setup", 0.6, False),
        ("launcher.setup", 0.59, True),
        ("job.rank_missing", 0.9, True),
    ],
)
def test_a_sure_answer_misses_nothing_unless_hardware_may_be_behind_it(name: str, sure: float, missed: bool) -> None:
    root = candidate(name, reported("x", "strong"), base=sure)
    assert bool(unseen(AT, root=root)) is missed


def test_without_a_cause_or_a_wait_less_is_missed() -> None:
    assert hints.unseen([AT], [], None) == []
    assert "Flight Recorder" not in unseen(AT)
    assert "NCCL itself" not in unseen(AT)


@pytest.mark.parametrize(
    ("world", "who", "words"),
    [
        ("12", (0,), "the log of ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ...: torchrun --log-dir logs --redirects 3"),
        ("11", (0,), "the log of ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10: torchrun --log-dir logs --redirects 3"),
        ("100001", (0,), ""),
        ("2", (), ""),
    ],
)
def test_ranks_of_which_nothing_was_given(world: str, who: tuple[int, ...], words: str) -> None:
    message = hints.unseen(
        [reported("x", rank=rank, at=NOON) for rank in who] + [reported("xid", at=NOON, world=world)], [ROOT], None
    )
    assert message == ([words] if words else [])


def test_a_rank_that_only_reports_of_itself_is_silent() -> None:
    message = unseen(reported("x", rank=0, at=NOON), reported("nccl.about", rank=1), reported("x", world="2"))
    assert "the log of rank 1:" in message


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ([ended(1, exit="3"), ended(2, exit="4", first="yes")], "rank 2 wrote before it ended with exit code 4"),
        ([ended(1, exit="3"), ended(2, exit="4")], "rank 1 wrote before it ended with exit code 3"),
        ([ended(1, exit="1")], "rank 1 wrote before it ended with exit code 1"),
        ([ended(1, signal="12"), ended(2, exit="5")], "rank 2 wrote before it ended with exit code 5"),
        ([reported("exit", "note", exit="3")], None),
        ([ended(None, exit="3", host="n1")], "what n1 wrote"),
        ([ended(None, exit="3")], "what the process wrote"),
        ([ended(1, exit="-9")], None),
        ([ended(1, exit="0")], None),
    ],
)
def test_what_a_process_wrote_before_it_ended_badly(ends: list[Evidence], words: str | None) -> None:
    message = unseen(*ends, root=UNKNOWN)
    assert ("--log-dir" in message) is (words is not None)
    assert (words or "") in message


@pytest.mark.parametrize(
    ("signal", "waited", "cause"),
    [("6", True, None), ("6", False, "job.exception"), ("9", True, "host.killed"), ("11", True, "job.exception")],
)
def test_a_watchdog_aborts_its_process_and_ends_no_other(signal: str, waited: bool, cause: str | None) -> None:
    one = exits.candidate([ended(3, signal=signal)], waited=waited)
    assert (one and one.name) == cause
    beside = exits.candidate([ended(2, signal="6"), ended(3, signal="9")], waited=True)
    assert beside is not None and (beside.name, beside.ranks) == ("host.killed", (3,))


@pytest.mark.parametrize(
    ("shown", "cause"),
    [
        (reported("x", code="x"), "job.exception"),
        (reported("x", code="python"), "job.dataloader"),
        (reported("x", code="worker"), "job.dataloader"),
        (reported("exception", code="x"), "job.dataloader"),
    ],
)
def test_a_bus_error_is_of_a_data_loader_where_a_trainer_is_shown(shown: Evidence, cause: str) -> None:
    one = exits.candidate([ended(code="task", signal="7"), shown])
    assert one is not None and one.name == cause
