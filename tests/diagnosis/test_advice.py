"""What the advice takes from the log itself: the option it names, the line that raised, the library, the cause."""

import pytest

from holdfast.diagnosis.rules import advice
from holdfast.diagnosis.rules.diagnose import Diagnosis, diagnose
from holdfast.formats.job.log import JobLog
from tests.diagnosis.telling import candidate, reported

HEAD = 'Traceback (most recent call last):\n  File "/home/me/train.py", line 12, in main\n'


def _of(text: str) -> Diagnosis:
    log = JobLog()
    log.feed(text.encode())
    return diagnose(log.finish())


def _fix(text: str) -> str:
    step = _of(text).next
    assert step is not None
    return "\n".join(step.fix)


def test_the_option_that_the_message_names_is_the_first_advice() -> None:
    message = "RuntimeError: slots are used up. Please set a smaller number for `--most-requests`. free=1\n"
    assert _fix(f"{HEAD}    pool.take(4)\n{message}").startswith(
        "As the log says: Please set a smaller number for `--most-requests`"
    )


def test_a_check_without_words_is_reported_by_its_source_line() -> None:
    assert "assert batch % world == 0" in _fix(f"{HEAD}    assert batch % world == 0\nAssertionError\n")


def test_nothing_is_written_for_a_part_that_the_line_does_not_name() -> None:
    found = _of(f"{HEAD}AssertionError\n")
    assert "<what>" not in found.next.reason + "".join(found.next.fix)  # type: ignore[union-attr]


def test_the_library_that_raised_is_named_with_the_call() -> None:
    frame = '  File "/opt/env/lib/python3.11/site-packages/fastlink/api.py", line 7, in register\n    self.add(x)\n'
    fix = _fix(f"{HEAD}    link(x)\n{frame}fastlink.LinkError: DOWN\n")
    assert "raised inside fastlink, called at train.py:12 in main" in fix


def test_an_exception_before_the_first_step_comes_again_unless_it_waited_for_something() -> None:
    for message, action in (
        ("RuntimeError: bad thing\n", "stop"),
        ("RuntimeError: connection timed out\n", "restart_same"),
    ):
        assert _of(f"{HEAD}    go()\n{message}").next.action == action  # type: ignore[union-attr]


def test_a_failed_look_up_is_not_the_cause_of_what_failed_after_it() -> None:
    then = "\nDuring handling of the above exception, another exception occurred:\n\n"
    found = _of(f"{HEAD}    cache[key]\nKeyError: 'k'\n{then}{HEAD}    build()\nValueError: width is 3\n")
    assert "width is 3" in found.next.reason  # type: ignore[union-attr]
    first = _of(f"{HEAD}    read()\nValueError: width is 3\n{then}{HEAD}    close()\nTypeError: 'x' is closed\n")
    assert "width is 3" in first.next.reason  # type: ignore[union-attr]


def test_a_signal_in_an_exit_code_is_read_whoever_prints_it() -> None:
    for line in (
        "launcher: Rank 3 crashed with exit code -11.",
        "worker 3 ended, exit code: 139",
        "shard was signaled to shutdown with signal 11 rank=1",
    ):
        assert _of(f"start\n{line}\n").causes[0].note == "segmentation fault"
    assert not _of("start\nall 4 jobs ended with exit code 0\n").causes


def test_a_check_of_a_compiled_library_names_its_condition() -> None:
    found = _of("[n1:88:0:90] select.c:549  Assertion `count == EMPTY' failed\n")
    assert found.causes[0].name == "job.exception" and "count == EMPTY" in found.next.reason  # type: ignore[union-attr]


def test_a_last_error_without_a_word_of_its_reason_is_unknown() -> None:
    for last, name in (
        ("Error: ShardFailed", "unknown"),
        ("sbatch: error: you may not use this account", "launcher.setup"),
    ):
        assert _of(f"starting\n{last}\n").causes[0].name == name


def test_memory_of_the_gpu_pool_is_not_the_hosts() -> None:
    message = "MemoryError: std::bad_alloc: out_of_memory: RMM failure at:pool.hpp:192: Maximum pool size exceeded\n"
    assert _of(f"{HEAD}    pool.take()\n{message}").causes[0].name == "job.cuda_oom"
    assert _of(f"{HEAD}    bytes(n)\nMemoryError\n").causes[0].name == "host.oom"


def test_a_damaged_run_is_known_by_its_exception() -> None:
    for message in ("ValueError: Network outputs is NAN! Stop Training", "RuntimeError: found non-finite values"):
        assert _of(f"{HEAD}    check(x)\n{message}\n").causes[0].name == "job.nan"
    assert _of(f"{HEAD}    parse(x)\nValueError: the name nancy is not allowed\n").causes[0].name == "job.exception"


def test_a_message_that_starts_on_its_own_line_belongs_to_the_exception() -> None:
    found = _of(
        f"{HEAD}    import fastlink\nRuntimeError: \n\n        The link failed. Please run `fastlink --check`\n"
    )
    assert "The link failed" in found.next.reason  # type: ignore[union-attr]
    assert "Please run `fastlink --check`" in found.next.fix[0]  # type: ignore[union-attr]


def test_the_value_that_stands_below_decides() -> None:
    head = "ValueError: Expected parameter logits to satisfy the constraint Real(), but found invalid values:\n"
    assert _of(f"{HEAD}    check()\n{head}tensor([[nan, nan]])\n").causes[0].name == "job.nan"
    assert _of(f"{HEAD}    check()\n{head}tensor([[-1., 2.]])\n").causes[0].name == "job.exception"


def test_advice_shortly_below_the_error_is_taken() -> None:
    log = "slurmstepd: error: pyxis: couldn't start container\nslurmstepd: error: pyxis: try using --plain-entrypoint\n"
    assert "As the log says: try using --plain-entrypoint" in _fix(log)
    assert "As the log says" not in _fix(log.replace("try using", "x\n" * 9 + "try using"))


def test_the_number_of_a_failed_call_is_read_as_its_error() -> None:
    found = _of("ibrc.cpp:420: non-zero status: 22 ibv_modify_qp failed.\n")
    assert found.causes[0].name == "launcher.setup" and "GID" in "".join(found.next.fix)  # type: ignore[union-attr]


def test_a_cuda_error_is_read_behind_a_short_clock_and_a_level() -> None:
    found = _of("7.25.597.709 E CUDA error: an illegal memory access was encountered\n")
    assert found.causes[0].name == "job.illegal_access"


def test_a_killed_rank_is_named_beside_its_host() -> None:
    line = "n7: failed (exitcode: -9) local_rank: 2 (pid: 40) of binary: /usr/bin/python\n"
    summary = "  host      : n7\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 40)\n"
    assert "rank 2" in _of(line + summary).next.reason  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("cause", "action", "advised"),
    [("job.exception", "", True), ("unknown", "", True), ("gpu.gsp", "", False), ("job.exception", "reset_gpu", False)],
)
def test_the_form_of_a_message_is_read_only_where_the_cause_leaves_open_what_to_change(
    cause: str, action: str, advised: bool
) -> None:
    line = reported("x", "strong", cause, text="RuntimeError: expected 3 arguments but got 4", action=action)
    assert any(one.startswith("Pass 3 arguments") for one in advice.fix(candidate(cause, line), [line])) is advised


@pytest.mark.parametrize(("advice_of_the_log", "taken"), [("Please set LR=10", True), ("Please set LR=1", False)])
def test_a_sentence_of_the_log_is_advice_from_sixteen_letters_on(advice_of_the_log: str, taken: bool) -> None:
    line = reported("exception", "strong", "job.exception", text=f"RuntimeError: diverged. {advice_of_the_log}")
    step = advice.fix(candidate("job.exception", line), [line])
    assert (f"As the log says: {advice_of_the_log}" in step) is taken


def test_what_the_log_advises_is_not_said_again_after_our_own_advice() -> None:
    shown = candidate("job.exception", reported("exception", "strong", text="Diverged. Please set LR=10"))
    assert advice._advice_of_the_log(shown, ["then: Please set LR=10"]) == []
    assert advice._advice_of_the_log(shown, ["set LR=10"]) == ["As the log says: Please set LR=10"]


@pytest.mark.parametrize(("library", "kept"), [("", True), ("fastlink", False)])
def test_general_advice_is_left_out_where_the_log_advises_and_the_library_is_known(library: str, kept: bool) -> None:
    line = reported("exception", "strong", "job.exception", text="Diverged. Please set LR=10", library=library)
    shown = candidate("job.exception", line)
    assert shown.problem is not None and shown.problem.name == "any_exception"
    steps = advice.fix(shown, [line])
    assert steps[0] == "As the log says: Please set LR=10"
    assert any(step.startswith("Correct the problem that the exception") for step in steps) is kept


@pytest.mark.parametrize(
    ("problem", "cause", "unknown"),
    [
        ("class_connection", "launcher.setup", True),
        ("any_exception", "job.exception", True),
        ("missing_module", "job.exception", False),
    ],
)
def test_a_problem_known_by_its_cause_or_class_alone_is_unknown(problem: str, cause: str, unknown: bool) -> None:
    line = reported("exception", "strong", cause, problem=problem)
    assert advice._is_unknown(candidate(cause, line)) is unknown
