"""Whose mismatch it is, from the stacks and exits of the ranks."""

from holdfast.diagnosis.rules import mismatch
from holdfast.diagnosis.rules.diagnose import Diagnosis, diagnose, subject_of
from holdfast.formats.job.log import JobLog
from tests.diagnosis.telling import reported

MESSAGE = (
    "  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 128 vs 4. "
    "Received data size doesn't match expected size.\n"
)
RESET = "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:391: Connection reset by peer.\n"


def traceback(rank: int, line: int) -> str:
    text = f'Traceback (most recent call last):\n  File "/home/ana/train.py", line {line}, in step\n    x()\n{RESET}'
    return "".join(f"[rank{rank}]: {one}\n" for one in text.splitlines())


def ended(rank: int, code: int) -> str:
    return (
        f"E0304 10:00:00.000000 7 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) "
        f"local_rank: {rank} (pid: 7{rank}) of binary: /usr/bin/python\n"
        "Root Cause (first observed failure):\n[0]:\n  time      : 2026-03-04_10:00:00\n  host      : n1\n"
        f"  rank      : {rank} (local_rank: {rank})\n  exitcode  : {code} (pid: 7{rank})\n  error_file: <N/A>\n"
    )


def read(text: str) -> Diagnosis:
    log = JobLog()
    log.feed(text.encode())
    return diagnose(log.finish())


def test_the_rank_that_aborted_while_the_others_stand_at_one_place() -> None:
    found = read(MESSAGE + traceback(0, 28) + traceback(2, 28) + ended(1, -6))
    assert found.causes[0].name == "job.collective_mismatch"
    assert subject_of(found.causes[0]) == "job/this/rank/1"
    assert "it expected 4 bytes and got 128, while ranks 0, 2 are at train.py:28 in step" in found.causes[0].note


def test_the_rank_whose_stack_is_elsewhere() -> None:
    found = read(MESSAGE + traceback(0, 28) + traceback(2, 28) + traceback(3, 52) + ended(1, -6))
    assert subject_of(found.causes[0]) == "job/this/rank/3"
    assert found.causes[0].note == "at train.py:52 in step, while ranks 0, 2 are at train.py:28 in step"


STACKS = (
    "Fatal Python error: Aborted\n\nThread 0x00007f1 (most recent call first):\n  <no Python frame>\n\n"
    "Current thread 0x00007f2 (most recent call first):\n"
    '  File "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce\n'
    '  File "/home/ana/train.py", line 52 in step\n  File "/home/ana/train.py", line 90 in <module>\n\n'
    "Extension modules: numpy.core._multiarray_umath (total: 1)\n"
)


def test_the_stack_that_python_prints_names_the_place_of_the_rank_that_aborted() -> None:
    found = read(MESSAGE + STACKS + traceback(0, 28) + traceback(2, 28) + ended(1, -6))
    assert subject_of(found.causes[0]) == "job/this/rank/1"
    assert found.causes[0].note == "at train.py:52 in step, while ranks 0, 2 are at train.py:28 in step"


def test_two_that_disagree_are_both_named_and_neither_is_blamed() -> None:
    found = read(MESSAGE + STACKS + traceback(0, 28) + ended(1, -6))
    assert subject_of(found.causes[0]) == "job/this"
    assert found.causes[0].note == (
        "it expected 4 bytes and got 128; rank 0 at train.py:28 in step; rank 1 at train.py:52 in step; "
        "the log does not tell which of them is wrong"
    )


def test_two_against_two_are_two_groups() -> None:
    found = read(MESSAGE + "".join(traceback(rank, 28 if rank < 2 else 52) for rank in range(4)))
    assert subject_of(found.causes[0]) == "job/this"
    assert "ranks 0, 1 at train.py:28 in step; ranks 2, 3 at train.py:52 in step" in found.causes[0].note


def test_one_that_aborted_alone_is_said_to_have_been_there() -> None:
    found = read(MESSAGE + STACKS + ended(1, -6))
    assert "rank 1 at train.py:52 in step; where the others were is not in the log" in found.causes[0].note


def test_no_rank_is_named_without_two_that_agree() -> None:
    for text in (MESSAGE + traceback(0, 28) + ended(1, -6), MESSAGE + ended(1, -6)):
        assert subject_of(read(text).causes[0]) == "job/this"


def test_no_rank_is_named_where_two_are_elsewhere_or_none_aborted() -> None:
    two = MESSAGE + traceback(0, 28) + traceback(2, 28) + traceback(3, 52) + traceback(1, 60)
    assert subject_of(read(two).causes[0]) == "job/this"
    assert subject_of(read(MESSAGE + traceback(0, 28) + traceback(2, 28) + ended(1, 1)).causes[0]) == "job/this"


def test_a_stack_without_a_place_does_not_hide_the_only_one_that_has_it() -> None:
    aborted = reported("exit", "exit", rank=1, signal="6")
    stacks = [reported("x", code="python", where="a.py:3"), reported("x", code="python")]
    assert mismatch._places([aborted, *stacks]) == {1: "a.py:3"}
    assert mismatch._places([aborted, *stacks, reported("x", code="python", where="b.py:4")]) == {}
