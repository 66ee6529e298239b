"""What is said where little is known: hung tasks, the end of a log, a process that ended without a word, no time."""

import pytest

from holdfast.diagnosis.rules import hints
from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.diagnosis.rules.weighing import weigh
from holdfast.model.evidence import Evidence
from tests.diagnosis.telling import NOON, candidate, kernel, reported, watchdog

HUNG = reported("hung_task", "hint", "storage.stall", host="n1", text="task  python blocked " + "x" * 90)


@pytest.mark.parametrize(
    ("why", "evidence", "found"),
    [
        ("a task that hangs", [HUNG], ["storage.stall"]),
        ("one that is no hint", [reported("hung_task", "note", "storage.stall")], []),
        ("another hint", [reported("problem", "hint", "storage.stall")], []),
        ("the programs tell of steps", [HUNG, reported("steps")], []),
        ("the programs tell of their life", [HUNG, reported("life", code="begin")], []),
        ("nothing", [], []),
    ],
)
def test_tasks_that_hang_count_where_programs_report_nothing(
    why: str, evidence: list[Evidence], found: list[str]
) -> None:
    assert [one.name for one in hints.hung(evidence)] == found, why


def test_a_hung_task_is_quoted_in_part_with_three_at_most() -> None:
    (one,) = hints.hung([HUNG] * 5)
    assert (one.note, one.host, len(one.evidence)) == (("task python blocked " + "x" * 90)[:80], "n1", 3)


@pytest.mark.parametrize(
    ("text", "code", "note"),
    [
        ("Traceback of a ValueError", "traceback", "the log ends inside a traceback: the message of the ValueError is missing"),
        ("Traceback", "traceback", "the log ends inside a traceback: what was raised is missing"),
        ("ValueError: x", "traceback", "its last error is: ValueError: x"),
        ("Traceback of a ValueError", "error", "its last error is: Traceback of a ValueError"),
    ],
)  # fmt: skip
def test_a_log_that_ends_inside_a_traceback(text: str, code: str, note: str) -> None:
    (one,) = hints.last_words([reported("tail", "note", "job.exception", code=code, text=text)])
    assert one.note == note


def test_who_waits_is_not_asked_for_its_last_words() -> None:
    tail = reported("tail", "note", "job.exception", code="error", text="boom")
    assert [one.name for one in diagnose([watchdog(3, at=0.0), tail]).causes] == ["unknown"]
    assert [one.name for one in diagnose([tail]).causes] == ["job.exception"]


@pytest.mark.parametrize(
    ("others", "ended"),
    [
        ([], True),
        ([reported("gloo", "effect", peer="n2<1>")], False),  # a lost peer says more
    ],
)
def test_a_launcher_that_ended_first_is_named_where_no_peer_was_lost(others: list[Evidence], ended: bool) -> None:
    quiet = reported("exit", "exit", code="task", exit="3", first="yes", rank=2)
    (one, *_) = diagnose([quiet, *others]).causes
    assert ("ended first" in one.note) is ended


@pytest.mark.parametrize(("at", "factor"), [(0.0, 1.0), (NOON + 500.0, 0.3)])
def test_what_has_no_time_did_not_come_after_the_end(at: float, factor: float) -> None:
    own = kernel("xid", "gpu.gsp", at)
    one = candidate("gpu.gsp", own)
    weigh([one], [own, reported("exception", "effect", at=NOON, rank=1)], None)
    assert one.factor == factor


@pytest.mark.parametrize(("at", "factor"), [(NOON + 500.0, 0.3), (NOON - 800.0, 1.0), (NOON - 901.0, 0.25)])
def test_a_job_failed_with_its_first_message_and_its_trouble_began_with_it(at: float, factor: float) -> None:
    own = kernel("xid", "gpu.gsp", at)
    one = candidate("gpu.gsp", own)
    weigh([one], [own, *(reported("exception", "effect", at=NOON + later, rank=1) for later in (1000.0, 0.0))], None)
    assert one.factor == factor
