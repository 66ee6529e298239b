"""Who is named and in which words, where a rank, a place or a message is missing, and on both sides of each limit."""

import pytest

from holdfast.diagnosis.rules import causality, collect, exits, hints, mismatch, report, timeline
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.collectives import NAMED_WAITERS, _ranks
from holdfast.diagnosis.rules.diagnose import Diagnosis, diagnose
from holdfast.diagnosis.rules.next_step import JobNextStep, _unsaid, decide, sentence, subject_words
from holdfast.diagnosis.rules.waiting import left_early, suspects
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, reported, wait, watchdog


def ended(rank: int | None = None, **more: str) -> Evidence:
    return reported("exit", "exit", rank=rank, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "signal"),
    [("Process abort signal", 6), ("Erroneous arithmetic operation", 8), ("Termination signal", 15), ("Killed", 9)],
)
def test_the_signal_behind_a_word_of_mpi(word: str, signal: int) -> None:
    assert exits.signal_of(ended(name=word)) == signal


@pytest.mark.parametrize(("who", "ranks"), [((None,), ()), ((3, None, 1), (1, 3))])
def test_a_program_that_ended_itself_names_the_ranks_it_knows(
    who: tuple[int | None, ...], ranks: tuple[int, ...]
) -> None:
    one = exits.candidate([*(ended(rank, code="mpi_abort", exit="5") for rank in who), ended(9, exit="1")])
    assert one is not None
    assert (one.name, one.ranks, one.confidence, one.note, one.known) == (
        "job.exception",
        ranks,
        0.42,
        "code 5",
        "mpi_abort",
    )
    silent = exits.candidate([ended(2, code="mpi_abort")])
    assert silent is not None
    assert silent.note == ""


def test_three_that_ended_themselves_are_shown() -> None:
    one = exits.candidate([ended(rank, code="mpi_abort", exit="5") for rank in range(5)])
    assert one is not None
    assert [item.rank for item in one.evidence] == [0, 1, 2]


@pytest.mark.parametrize(("who", "ranks"), [((None,), ()), ((4, None), (4,))])
def test_a_signal_names_the_ranks_it_knows(who: tuple[int | None, ...], ranks: tuple[int, ...]) -> None:
    one = exits.candidate([ended(rank, signal="9") for rank in who])
    assert one is not None
    assert one.ranks == ranks


def test_of_alike_ends_the_second_and_third_are_shown() -> None:
    first = ended(7, signal="9", first="yes")
    one = exits.candidate(
        [ended(0, signal="9"), ended(1, signal="9"), ended(2, signal="9"), ended(3, signal="9"), first]
    )
    assert one is not None
    assert [item.rank for item in one.evidence] == [7, 1, 2]


def test_a_watchdog_aborts_its_own_process() -> None:
    ends = [ended(0, signal="6"), ended(1, signal="11")]
    waited, alone = exits.candidate(ends, waited=True), exits.candidate(ends)
    assert waited is not None and alone is not None
    assert (waited.ranks, alone.ranks) == ((1,), (0,))
    assert exits.candidate(ends[:1], waited=True) is None


@pytest.mark.parametrize(
    ("ends", "first"),
    [
        ([ended(0, exit="0"), ended(1, exit="3"), ended(2, exit="4")], 1),
        ([ended(1, exit="3"), ended(2, exit="4", first="yes")], 2),
        ([ended(1, exit="-9"), ended(2)], None),
        ([reported("job", "note", exit="3", rank=5)], None),
    ],
)
def test_who_ended_first_with_an_error_of_its_own(ends: list[Evidence], first: int | None) -> None:
    found = exits.first_quiet(ends)
    assert (None if found is None else found.rank) == first


@pytest.mark.parametrize(
    ("rank", "host", "words"),
    [(3, "n1", "rank 3 on n1"), (0, "", "rank 0"), (None, "n1", "n1"), (None, "", "the process")],
)
def test_who_ended_in_words(rank: int | None, host: str, words: str) -> None:
    assert exits.who(reported("exit", "exit", rank=rank, host=host)) == words


def bar(line: int, rank: int | None, file: str = "a.log") -> Evidence:
    return reported("eval", "hint", "job.rank_slow", line=line, rank=rank, text=f"bar of line {line}", file=file)


@pytest.mark.parametrize(
    ("why", "bars", "spoke", "note", "ranks"),
    [
        ("the last before the watchdog", [bar(3, 1), bar(8, 2), bar(12, 3)], 10, "bar of line 8", (2,)),
        ("in the line of the watchdog", [bar(3, 1), bar(10, 2), bar(12, 3)], 10, "bar of line 10", (2,)),
        ("none before it: the last", [bar(11, 1), bar(12, 3)], 10, "bar of line 12", (3,)),
        ("a rank that waits itself is not busy", [bar(3, 0)], 10, "bar of line 3", ()),
        ("nobody knows whose bar it is", [bar(3, None)], 10, "bar of line 3", ()),
    ],
)
def test_which_bar_counts_beside_a_wait(
    why: str, bars: list[Evidence], spoke: int, note: str, ranks: tuple[int, ...]
) -> None:
    told = [watchdog(0, line=spoke), watchdog(0, line=spoke + 40)]
    (one,) = hints.candidates([*bars, *told], wait(*told))
    assert (one.note, one.ranks, one.confidence, len(one.evidence)) == (note, ranks, 0.55, 1), why


def test_where_a_store_timed_out_the_last_bar_of_all_counts() -> None:
    (one,) = hints.candidates([bar(3, 1), bar(8, 2), reported("exception", text="Socket Timeout")], None)
    assert (one.note, one.ranks) == ("bar of line 8", (2,))


def at_seq(*places: str | None) -> list[Evidence]:
    return [
        watchdog(rank, at=0.0, line=rank + 1, **({} if place is None else {"seq": place}))
        for rank, place in enumerate(places)
    ]


@pytest.mark.parametrize(
    ("why", "places", "hosts", "suspected"),
    [
        ("one place", ("5", "5", "5", "5"), 2, True),
        ("two", ("5", "6", "6", "6"), 2, True),
        ("two and one that is not told", ("5", "6", "6", None), 2, False),
        ("one host", ("5", "5", "5", "5"), 1, False),
    ],
)
def test_everybody_waits_in_two_places_at_most(
    why: str, places: tuple[str | None, ...], hosts: int, suspected: bool
) -> None:
    evidence = at_seq(*places)
    around = [reported("nccl.about", host=f"n{n}", rank=n) for n in range(hosts)]
    found = suspects(wait(*evidence), [*evidence, *around])
    assert [one.name for one in found] == (["fabric.unreachable"] if suspected else []), why


@pytest.mark.parametrize(
    ("places", "name", "odd"),
    [
        ((9, 9, 7, 9), "job.rank_missing", (2,)),
        ((7, 7, 9, 7), "job.collective_mismatch", (2,)),
        ((7, 7, 9, 9, 7), "job.rank_missing", None),
        ((7, 7, 7, 9, 9), "job.collective_mismatch", (3, 4)),
    ],
)
def test_where_most_wait_tells_who_went_on(places: tuple[int, ...], name: str, odd: tuple[int, ...] | None) -> None:
    evidence = at_seq(*(str(place) for place in places))
    found = {one.name: one for one in suspects(wait(*evidence), evidence)}
    if odd is None:
        assert found["job.collective_mismatch"].ranks == (2, 3)
    else:
        assert found[name].ranks == odd


def test_who_lost_a_peer_is_one_more_than_one() -> None:
    one = [reported("nccl", "effect", rank=rank, line=rank) for rank in (0, 2, 2)]
    assert [item.ranks for item in left_early(one)] == [(1,)]
    assert left_early(one[1:]) == []


MISMATCH = "job.collective_mismatch"


def raised(rank: int | None, where: str, kind: str = "exception") -> Evidence:
    return reported(kind, "strong", MISMATCH, rank=rank, where=where)


def aborted(rank: int | None) -> Evidence:
    return ended(rank, signal="6")


def stack(where: str) -> Evidence:
    return reported("stack", code="python", where=where)


@pytest.mark.parametrize(
    ("why", "evidence", "ranks"),
    [
        ("one stands elsewhere", [raised(0, "a"), raised(1, "a"), raised(2, "b")], (2,)),
        ("two stand elsewhere", [raised(0, "a"), raised(1, "a"), raised(2, "b"), raised(3, "c")], ()),
        ("one of two", [raised(0, "a"), raised(1, "b")], ()),
        ("two against two", [raised(0, "a"), raised(1, "a"), raised(2, "b"), raised(3, "b")], ()),
        ("three against two", [raised(0, "a"), raised(1, "a"), raised(4, "a"), raised(2, "b"), raised(3, "b")], ()),
        ("one aborted while the others stand at one place", [raised(0, "a"), raised(1, "a"), aborted(5)], (5,)),
        ("two aborted", [raised(0, "a"), raised(1, "a"), aborted(5), aborted(6)], ()),
        ("who aborted had a place of its own", [raised(0, "a"), raised(1, "a"), aborted(1)], ()),
        ("the stack is that of the one that aborted", [raised(0, "a"), raised(1, "a"), stack("b"), aborted(5)], (5,)),
        ("it stood where the others stand", [raised(0, "a"), raised(1, "a"), stack("a"), aborted(5)], ()),
        ("two stacks: nobody knows whose", [raised(0, "a"), raised(1, "a"), stack("a"), stack("b"), aborted(5)], (5,)),
        ("two aborted: nobody knows whose stack it is", [raised(0, "a"), raised(1, "a"), stack("b"), aborted(5), aborted(6)], ()),
        ("nobody knows which rank aborted", [raised(0, "a"), raised(1, "a"), aborted(None)], ()),
        ("a line of no rank has no place", [raised(0, "a"), raised(1, "a"), raised(None, "b")], ()),
        ("a rank without a place", [raised(0, "a"), raised(1, "a"), raised(2, "")], ()),
        ("the first place of a rank counts", [raised(0, "a"), raised(1, "a"), raised(1, "b"), raised(2, "b")], (2,)),
        ("a line that is no exception", [raised(0, "a"), raised(1, "a"), raised(2, "b", "note")], ()),
        ("nobody stands anywhere", [aborted(5)], ()),
    ],
)  # fmt: skip
def test_whose_mismatch_it_is(why: str, evidence: list[Evidence], ranks: tuple[int, ...]) -> None:
    one = candidate(MISMATCH, *evidence[:1])
    mismatch.name_the_rank([one], evidence)
    assert one.ranks == ranks, why


def test_where_no_majority_is_who_stood_where_is_said() -> None:
    one = candidate(MISMATCH, reported("x", got="4", expected="8"), note="old")
    mismatch.name_the_rank([one], [raised(2, "b"), raised(0, "a"), raised(1, "b"), raised(3, "a")])
    assert one.note == (
        "it expected 8 bytes and got 4; ranks 0, 3 at a; ranks 1, 2 at b; the log does not tell which of them is wrong"
    )
    single = candidate(MISMATCH, reported("x"), note="old")
    mismatch.name_the_rank([single], [raised(2, "b")])
    assert single.note == "it aborted; rank 2 at b; where the others were is not in the log"
    nobody = candidate(MISMATCH, reported("x"), note="old")
    mismatch.name_the_rank([nobody], [])
    assert nobody.note == "old"


def test_only_a_mismatch_without_a_rank_is_given_one() -> None:
    known, other = candidate(MISMATCH, reported("x"), ranks=(7,)), candidate("job.nan", reported("x"))
    mismatch.name_the_rank([known, other], [raised(0, "a"), raised(1, "a"), raised(2, "b")])
    assert (known.ranks, other.ranks) == ((7,), ())


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "rank 0"),
        (2, "ranks 0, 1"),
        (NAMED_WAITERS, "ranks 0, 1, 2, 3, 4, 5, 6, 7"),
        (9, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 1 more"),
        (11, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more"),
    ],
)
def test_eight_ranks_are_named(count: int, words: str) -> None:
    assert _ranks(range(count)) == words


LONG = "RuntimeError: " + "x" * 23


@pytest.mark.parametrize(
    ("why", "note", "said", "left"),
    [
        ("nothing was said", LONG + "x, at a.py:3", "", LONG + "x, at a.py:3"),
        (
            "24 letters of the message were said",
            LONG + "xy, at a.py:3",
            "it says " + "x" * 24,
            "RuntimeError, at a.py:3",
        ),
        ("23 are too few to know it again", LONG, "it says " + "x" * 24, LONG),
        ("another message was said", LONG + "xy, at a.py:3", "it says " + "z" * 40, LONG + "xy, at a.py:3"),
        ("the message has no place", LONG + "xy", "it says " + "x" * 24, "RuntimeError"),
        ("all of it was said", "a.py:3", "it is at a.py:3", ""),
        ("a peer that was named", "peer n7", "it lost n7", ""),
    ],
)
def test_what_of_a_note_was_not_said_yet(why: str, note: str, said: str, left: str) -> None:
    assert _unsaid(note, said) == left, why


@pytest.mark.parametrize(
    ("why", "one", "expected"),
    [
        ("the place is put in", candidate("gpu.gsp", reported("x"), host="n1", device="d"), "(n1, d)"),
        ("an unknown place is left out", candidate("gpu.gsp", reported("x")), None),
        ("two ranks beside their host", candidate("host.oom", reported("x"), host="n1", ranks=(1, 2)), "n1, ranks 1, 2"),
        ("more are said by the host", candidate("host.oom", reported("x"), host="n1", ranks=(1, 2, 3)), "n1"),
    ],
)  # fmt: skip
def test_what_happened_and_where(why: str, one: Candidate, expected: str | None) -> None:
    said = sentence(one)
    assert "%s" not in said, why
    assert "()" not in said
    if expected is None:
        assert "(" not in said
    else:
        assert expected in said
    assert subject_words(one) == ("" if expected is None else expected.strip("()"))


@pytest.mark.parametrize(("length", "kept"), [(200, 200), (260, 200)])
def test_what_the_cluster_team_reads_of_a_long_message(length: int, kept: int) -> None:
    one = candidate("fabric.port_down", reported("link", "strong", text="y" * length), host="n1")
    assert decide([one], []).report_to.count("y") - one.name.count("y") <= kept + 5


@pytest.mark.parametrize(
    ("action", "reason", "line"),
    [
        ("stop", "why", "stop: change it before the next start; why"),
        ("stop", "", "stop: change it before the next start"),
        ("look", "why", "look: why"),
        ("restart_same", "why", "restart same: start it again on the same nodes; why"),
        ("restart_after_probe", "", "restart after probe: test the nodes and the network between them, then start it again"),
        ("wait_for_storage", "", "wait for storage: start it again when storage answers"),
    ],
)  # fmt: skip
def test_what_to_do_in_a_line(action: str, reason: str, line: str) -> None:
    one = candidate("storage.full", reported("x"), base=0.8)
    assert report.next_lines(Diagnosis((one,), JobNextStep(action, reason), (), (), None))[0] == line


def test_a_reason_that_the_headline_says_is_not_said_again() -> None:
    one = candidate("storage.full", reported("x"), base=0.8)
    for reason, line in ((sentence(one), "stop: change it before the next start"), (f"{sentence(one)}; and more", "stop: change it before the next start; and more")):  # fmt: skip
        assert report.next_lines(Diagnosis((one,), JobNextStep("stop", reason), (), (), None))[0] == line


def test_all_that_is_to_be_done_in_lines() -> None:
    one = candidate("storage.full", reported("x"), base=0.8)
    step = JobNextStep("stop", "why", fix=("a", "b"), verify="v", link="l", report_to="r")
    assert report.next_lines(Diagnosis((one,), step, (), (), None))[1:] == [
        "change: a", "change: b", "verify: v", "see: l", "for the cluster team: r",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("why", "done", "line", "over"),
    [
        ("before the last word of its end", {"line": 3, "last_line": 20.0}, 19, True),
        ("in it", {"line": 3, "last_line": 20.0}, 20, False),
        ("its end is said once", {"line": 3}, 2, True),
        ("after it", {"line": 3}, 4, False),
    ],
)
def test_the_last_line_that_says_that_the_work_is_done(why: str, done: dict[str, float], line: int, over: bool) -> None:
    reached = timeline.milestones([reported("life", code="done", **done)])  # type: ignore[arg-type]
    assert timeline.survived(reported("exception", "strong", line=line), reached) is over, why


@pytest.mark.parametrize(
    ("kind", "code", "known"), [("nccl.about", "rank", True), ("nccl.about", "x", False), ("life", "rank", False)]
)
def test_a_call_that_failed_before_a_rank_was_connected_went_well_later(kind: str, code: str, known: bool) -> None:
    reached = timeline.milestones([reported(kind, code=code, line=9)])
    assert timeline.survived(reported("nccl", "strong", code="call_failed", line=8), reached) is known
    assert not timeline.survived(reported("nccl", "strong", code="call_failed", line=9), reached)
    assert not timeline.survived(reported("nccl", "strong", code="other", line=8), reached)


@pytest.mark.parametrize(("steps", "over"), [("2", True), ("1", False)])
def test_what_keeps_a_job_from_starting_is_survived_by_two_steps(steps: str, over: bool) -> None:
    one = reported("files", "strong", "launcher.setup", steps_after=steps)
    assert timeline.survived(one, timeline.Milestones({})) is over


@pytest.mark.parametrize(("level", "kept"), [(causality.LEAST, True), (causality.LEAST - 0.01, False)])
def test_who_is_unlikely_explains_nothing(level: float, kept: bool) -> None:
    cause = candidate("gpu.gsp", reported("xid", at=NOON), host="n1", base=level)
    effect = candidate("job.rank_missing", reported("watchdog", at=NOON), base=0.3)
    assert causality._explains(cause, effect) is kept


@pytest.mark.parametrize(("length", "end"), [(160, "y"), (161, "...")])
def test_a_message_of_160_letters_is_short(length: int, end: str) -> None:
    found = collect.short("y" * length)
    assert found.endswith(end)
    assert len(found) == 160


@pytest.mark.parametrize(("count", "shown"), [(4, "peer a, b, c, d"), (5, "peer a, b, c, d")])
def test_four_peers_are_named(count: int, shown: str) -> None:
    lines = [reported("nccl", "weak", "fabric.unreachable", peer=f"{name}<1>", line=n) for n, name in enumerate("edcba"[-count:])]  # fmt: skip
    (one,) = collect.candidates(lines)
    assert one.note == shown


@pytest.mark.parametrize(("count", "said"), [(1, "the log of rank 1:"), (10, "8, 9, 10:"), (11, "9, 10 ...:")])
def test_ten_silent_ranks_are_named(count: int, said: str) -> None:
    given = [reported("x", rank=0, at=NOON), reported("xid", at=NOON, world=str(count + 1))]
    message = hints.unseen(given, [candidate("job.exception", reported("exception", "weak"))], None)
    assert said in message[0]
    assert message[0].startswith("the log of ranks" if count > 1 else "the log of rank ")


@pytest.mark.parametrize(
    ("sure", "name", "asked"),
    [(0.6, "storage.full", False), (0.59, "storage.full", True), (0.9, "host.killed", True), (0.9, "job.nan", True)],
)
def test_a_sure_answer_needs_no_more_unless_hardware_may_change_it(sure: float, name: str, asked: bool) -> None:
    found = hints.unseen([reported("x", at=NOON)], [candidate(name, reported("x", "weak"), base=sure)], None)
    assert bool(found) is asked


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ([], ["Flight Recorder", "NCCL_DEBUG"]),
        ([reported("flight_recorder.dump", at=NOON)], ["NCCL_DEBUG"]),
        ([reported("nccl.about", at=NOON)], ["Flight Recorder"]),
    ],
)
def test_what_is_missed_beside_a_wait(given: list[Evidence], missing: list[str]) -> None:
    told = watchdog(0, at=NOON)
    roots = [candidate("job.rank_missing", told, base=0.5)]
    lines = hints.unseen([reported("xid", at=NOON), told, *given], roots, wait(told))
    assert [next(word for word in ("Flight Recorder", "NCCL_DEBUG") if word in line) for line in lines] == missing
    assert hints.unseen([reported("xid", at=NOON), told], roots, None) == []


def test_the_peer_that_most_lost_is_looked_at() -> None:
    lost = [reported("nccl", "effect", rank=n, line=n, peer=peer) for n, peer in enumerate(["a<1>", "b<1>", "b<2>"])]
    (one,) = diagnose(lost).causes
    assert one.note == "look at the log of b, which went away first"
    (tied,) = diagnose(lost[:2]).causes
    assert tied.note == "look at the log of a, which went away first"
