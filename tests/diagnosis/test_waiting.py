"""What the watchdogs tell together: since when, for what, and who is not among them."""

import pytest

from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.waiting import Waiting, find, left_early, suspects
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, reported, wait, watchdog


def found(*evidence: Evidence) -> dict[str, Candidate]:
    return {one.name: one for one in suspects(wait(*evidence), evidence)}


def ranks(*numbers: int, **detail: str) -> list[Evidence]:
    return [watchdog(number, at=0.0, line=number + 1, **detail) for number in numbers]


def test_a_wait_began_its_duration_before_the_first_word() -> None:
    first, later = watchdog(3, at=NOON, ran_ms="600500"), watchdog(1, at=NOON + 5, ran_ms="1000")
    seen = wait(later, first, watchdog(None, at=0.0), reported("steps", at=1.0))
    assert (seen.since, seen.fired, seen.ranks) == (NOON - 600.5, NOON, (1, 3))
    assert wait(watchdog(2, at=NOON)).since == NOON
    assert (wait(watchdog(2, at=0.0)).since, wait(watchdog(2, at=0.0)).fired) == (0.0, 0.0)
    assert find([reported("steps")]) is None


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ((), "of the job"),
        ((4,), "of rank 4"),
        ((1, 2), "of ranks 1, 2"),
        (tuple(range(6)), "of ranks 0, 1, 2, 3, 4, 5"),
        (tuple(range(7)), "of ranks 0, 1, 2, 3, 4, 5 and 1 more"),
        (tuple(range(8)), "of ranks 0, 1, 2, 3, 4, 5 and 2 more"),
    ],
)
def test_who_waits_in_words(who: tuple[int, ...], words: str) -> None:
    assert Waiting((), 0.0, 0.0, who).says() == f"watchdog timeout {words}"


def calls(*sizes: str, seq: str | None = "7", op: str = "ALLREDUCE") -> list[Evidence]:
    more = {} if seq is None else {"seq": seq}
    return [watchdog(rank, at=0.0, line=rank + 1, op=op, numel_in=size, **more) for rank, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("why", "reported_by", "odd", "note"),
    [
        ("the minority is odd", calls("128", "64", "128"), (1,), "at collective 7: ALLREDUCE of 128, ALLREDUCE of 64"),
        ("whoever is read first", calls("64", "128", "128"), (0,), "at collective 7: ALLREDUCE of 64, ALLREDUCE of 128"),
        ("the oldest watchdogs tell no number", calls("64", "128", "128", seq=None), (0,), "ALLREDUCE of 64, ALLREDUCE of 128"),
        ("no size is reported", [*calls("", ""), watchdog(2, at=0.0, seq="7", op="BROADCAST")], (2,), "at collective 7: ALLREDUCE of ?, BROADCAST of ?"),
    ],
)  # fmt: skip
def test_same_number_other_operation_or_size(
    why: str, reported_by: list[Evidence], odd: tuple[int, ...], note: str
) -> None:
    one = found(*reported_by)["job.collective_mismatch"]
    assert (one.ranks, one.note, one.confidence) == (odd, note, 0.65), why
    assert one.evidence[0].rank in odd, "whoever differs is shown first"


def test_other_numbers_are_no_mismatch_and_one_rank_differs_from_no_one() -> None:
    assert "job.collective_mismatch" not in found(*calls("64", "64"), *calls("128", "128", seq="8"))
    assert "job.collective_mismatch" not in found(
        *calls("64")[:1], watchdog(0, at=0.0, seq="7", op="SEND", numel_in="1")
    )
    assert "job.collective_mismatch" not in found(*calls("64", "64"), watchdog(None, at=0.0, seq="7", op="SEND"))


def enqueued(*numbers: int) -> list[Evidence]:
    return [watchdog(rank, at=0.0, line=rank + 1, seq="5", enqueued=str(number)) for rank, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("why", "numbers", "cause", "who", "note"),
    [
        ("two behind", (9, 9, 7, 9), "job.rank_missing", (2,), "2 collectives behind"),
        ("one behind may overlap", (9, 9, 8, 9), None, (), ""),
        ("half of them are behind", (9, 9, 7, 6), "job.rank_missing", (2, 3), "3 collectives behind"),
        ("most are where one went on", (5, 5, 7, 5), "job.collective_mismatch", (2,), "they went on while the others waited in collective 5"),
        ("one ahead may overlap", (5, 5, 6, 5), None, (), ""),
        ("of two nobody can tell who went on", (5, 7), "job.rank_missing", (0,), "2 collectives behind"),
        ("as many went on as wait: nobody can tell", (5, 5, 5, 8, 9, 7), None, (), ""),
    ],
)  # fmt: skip
def test_who_enqueued_least_is_missing_and_who_went_on_called_something_else(
    why: str, numbers: tuple[int, ...], cause: str | None, who: tuple[int, ...], note: str
) -> None:
    seen = found(*enqueued(*numbers))
    blamed = {name: one for name, one in seen.items() if name in ("job.rank_missing", "job.collective_mismatch")}
    assert [*blamed] == ([cause] if cause else []), why
    if cause:
        assert (blamed[cause].ranks, blamed[cause].note) == (who, note), why
        assert blamed[cause].confidence == (0.7 if cause == "job.rank_missing" else 0.55)


def test_the_highest_of_what_a_rank_reported_counts() -> None:
    again = watchdog(2, at=0.0, seq="5", enqueued="9", line=90)
    assert "job.rank_missing" not in found(*enqueued(9, 9, 7, 9), again)


@pytest.mark.parametrize(
    ("why", "evidence", "missing", "sure"),
    [
        ("all but one of eight", ranks(0, 1, 2, 3, 5, 6, 7), (4,), 0.5),
        ("two of eight are a quarter", ranks(0, 1, 2, 5, 6, 7), (3, 4), 0.5),
        ("three are too many to be missing", ranks(0, 5, 6, 7, 1), None, 0.0),
        ("of two one may be missing", ranks(1), (0,), 0.35),
        ("one that speaks alone, of a world of two", [*ranks(1), reported("nccl.about", world="2")], (0,), 0.5),
        ("the world is larger than who speaks", [*ranks(0, 1, 2), reported("nccl.about", world="4")], (3,), 0.5),
        ("who lost a peer waited too", [*ranks(0, 1), reported("nccl", "effect", rank=2), reported("nccl.about", world="4")], (3,), 0.5),
        ("nobody is missing", ranks(0, 1, 2, 3), None, 0.0),
        ("a number that cannot be", [*ranks(0, 1), reported("nccl.about", world="200001")], None, 0.0),
        ("a number that no memory holds", [*ranks(0, 1), reported("nccl.about", world="9" * 17)], None, 0.0),
    ],
)  # fmt: skip
def test_who_says_nothing_while_all_others_wait(
    why: str, evidence: list[Evidence], missing: tuple[int, ...] | None, sure: float
) -> None:
    one = found(*evidence).get("job.rank_missing")
    assert (None if one is None else (one.ranks, one.confidence)) == (None if missing is None else (missing, sure)), why


def test_timeouts_are_shown_for_a_missing_rank_where_there_are_any() -> None:
    evidence = [*ranks(0, 1, 2), *(watchdog(n, at=0.0, code="timeout", line=9) for n in (5, 6, 7)), *ranks(3)]
    shown = found(*evidence)["job.rank_missing"].evidence
    assert [one.event.code for one in shown] == ["timeout"] * 3
    assert len(found(*ranks(0, 1, 2, 3, 5))["job.rank_missing"].evidence) == 3


@pytest.mark.parametrize(("code", "alive"), [("-15", True), ("-9", False), ("1", False)])
def test_a_missing_rank_that_the_launcher_had_to_end_was_busy(code: str, alive: bool) -> None:
    ended = reported("exit", "exit", rank=4, exit=code)
    seen = found(*ranks(0, 1, 2, 3, 5, 6, 7), ended)
    assert ("job.rank_slow" in seen) is alive
    if alive:
        assert (seen["job.rank_slow"].ranks, seen["job.rank_slow"].confidence) == ((4,), 0.35)
    other = reported("exit", "exit", rank=3, exit="-15")
    assert "job.rank_slow" not in found(*ranks(0, 1, 2, 3, 5, 6, 7), other)


def on_hosts(count: int, hosts: int, places: int = 1) -> list[Evidence]:
    return [reported("watchdog", "watchdog", rank=n, host=f"n{n % hosts}", line=n + 1, seq=str(5 + n % places)) for n in range(count)]  # fmt: skip


@pytest.mark.parametrize(
    ("why", "evidence", "suspected"),
    [
        ("all of two hosts wait", on_hosts(4, 2), True),
        ("and a line is of no rank", [*on_hosts(4, 2), reported("steps", host="n1")], True),
        ("all of one host", on_hosts(4, 1), False),
        ("in two places, which may overlap", on_hosts(4, 2, 2), True),
        ("in three places", on_hosts(6, 2, 3), False),
        ("somebody does something else", [*on_hosts(4, 2), reported("steps", rank=2, host="n1"), reported("nccl.about", rank=9)], False),
    ],
)  # fmt: skip
def test_where_everybody_waits_the_network_between_the_hosts_is_suspected(
    why: str, evidence: list[Evidence], suspected: bool
) -> None:
    seen = found(*evidence)
    assert ("fabric.unreachable" in seen) is suspected, why
    if suspected:
        one = seen["fabric.unreachable"]
        assert (one.confidence, len(one.evidence)) == (0.35, 3)


def test_a_single_rank_is_not_everybody() -> None:
    alone = [reported("watchdog", "watchdog", rank=0, host="n0"), reported("nccl.about", host="n1")]
    assert "fabric.unreachable" not in found(*alone)


@pytest.mark.parametrize(("who", "missing"), [((0, 1, 3), (2,)), ((1,), None), ((0, 3, 4, 5, 6), None)])
def test_where_no_watchdog_spoke_who_lost_no_peer_was_elsewhere(
    who: tuple[int, ...], missing: tuple[int, ...] | None
) -> None:
    lost = [reported("nccl", "effect", rank=rank, line=rank) for rank in who]
    elsewhere = [reported("loading", "note", rank=2), reported("nccl", "effect")]  # not lost, or nobody's
    seen = left_early([*lost, *elsewhere])
    assert [one.ranks for one in seen] == ([] if missing is None else [missing])
    assert all((one.confidence, one.note) == (0.45, "every other rank lost its peer") for one in seen)
