"""A cause that rests on general words is never sure, and words that are not messages are none."""

from itertools import chain, combinations

import pytest

from holdfast.diagnosis.rules import advice
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job.log import JobLog
from tests.diagnosis.telling import candidate, reported

SURE = 0.8
ROLES = ("likely", "weak", "hint", "effect")
TRACEBACK = 'Traceback (most recent call last):\n  File "/w/train.py", line 9, in <module>\n    go()\n'


def first(text: str) -> Candidate | None:
    log = JobLog()
    log.feed(text.encode())
    found = diagnose(log.finish())
    return found.causes[0] if found.causes else None


def name(text: str) -> str:
    found = first(text)
    return found.name if found else ""


def fix(text: str) -> str:
    found = first(text)
    assert found is not None
    return "\n".join(advice.fix(found, found.evidence))


@pytest.mark.parametrize("roles", [*chain.from_iterable(combinations(ROLES, size) for size in range(1, 5))])
def test_lines_that_only_point_somewhere_are_never_sure_together(roles: tuple[str, ...]) -> None:
    pieces = [reported(f"kind {number}", role) for number, role in enumerate(roles)]
    assert candidate("job.exception", *pieces).confidence < SURE
    assert candidate("job.exception", *pieces, reported("x", "strong")).confidence >= SURE


def test_two_lines_that_are_right_most_often_are_sure_together() -> None:
    two = [reported("call", "likely"), reported("problem", "likely")]
    assert candidate("storage.stall", *two).confidence >= SURE
    assert candidate("storage.stall", two[0], reported("problem", "weak")).confidence == 0.78


@pytest.mark.parametrize("phrase", ["Address already in use", "over memory limit", "Too many open files"])
@pytest.mark.parametrize(("before", "sure"), [("", False), ("ERROR: ", True), ("bind failed: ", True)])
def test_a_known_phrase_is_sure_only_where_the_line_says_that_something_failed(
    phrase: str, before: str, sure: bool
) -> None:
    found = first(f"{before}{phrase}\n")
    assert found is not None
    assert (found.confidence >= SURE) == sure


@pytest.mark.parametrize(
    "message",
    ["ERROR: Address already in use", "failed: Too many open files", "CUDA error: out of memory"],
)
@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "(Worker pid=7) "])
def test_code_below_a_frame_is_no_message(message: str, prefix: str) -> None:
    log = JobLog()
    log.feed(f'{prefix}  File "/w/a.py", line 3, in check\n{prefix}    {message}\n'.encode())
    assert [one.cause for one in log.finish() if one.role in ("strong", "likely", "weak")] == []
    assert name(f"{prefix}{message}\n")


def test_an_exception_below_a_frame_without_code_is_a_message() -> None:
    assert name('      File "<string>", line 3, in run\n    OSError: No space left on device\n') == "storage.full"


def test_code_of_one_rank_is_no_message_though_another_speaks_between() -> None:
    text = '[rank0]:   File "/w/a.py", line 3, in check\n[rank1]: loss 3.1\n[rank0]:     Address already in use\n'
    assert name(text) != "launcher.setup"


@pytest.mark.parametrize(
    ("line", "cause"),
    [("world_size == 8, rank == 0", ""), ("world size == 16", ""), ("using mpi_size == 4", ""),
     ("Assertion failed: world_size == 8", "launcher.setup"), ("ERROR: expected world size == 16", "launcher.setup"),
     ("RuntimeError: assert mpi_size == 4", "launcher.setup")],
)  # fmt: skip
def test_a_number_of_processes_is_wrong_only_where_something_fails(line: str, cause: str) -> None:
    assert name(f"{line}\nstep 1 loss 3.1\n" if not cause else f"{line}\n") == cause


@pytest.mark.parametrize("error", ["RuntimeError: internal error, code 7", "OSError: could not get source code"])
def test_an_exception_that_any_fault_may_raise_is_not_sure(error: str) -> None:
    found = first(f"{TRACEBACK}{error}\n")
    assert found is not None
    assert (found.name, found.confidence < SURE) == ("job.exception", True)


@pytest.mark.parametrize(
    "form",
    ["*** {} received at time=1734086759 ***", "*** {} (@0x0) received by PID 4321 (TID 0x7f) from PID 0 ***",
     "worker 3: caught signal {} at 0x10", "Fatal {} in thread 4"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("signal", "cause"), [("SIGSEGV", "job.exception"), ("SIGABRT", "job.exception"), ("SIGBUS", "job.dataloader")]
)
def test_the_signal_that_a_handler_prints(form: str, signal: str, cause: str) -> None:
    found = first(f"loading\n{form.format(signal)}\n")
    assert found is not None
    assert (found.name, found.confidence < SURE) == (cause, True)


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("FatalError: `Segmentation fault` is detected by the operating system.", "job.exception"),
        ("FatalError: A serious error (Termination signal) is detected by the operating system.", "host.killed"),
        ("[4173] signal (11.1): Segmentation fault", "job.exception"),
        ("potential causes: (3) the worker is crashed due to SIGSEGV or other errors", "unknown"),
        ("handlers for SIGABRT and SIGSEGV are installed", ""),
    ],
)
def test_who_received_a_signal_and_who_only_speaks_of_it(line: str, cause: str) -> None:
    assert name(f"{line}\nbye\n") == cause


@pytest.mark.parametrize(
    "error",
    ["Error merging 'config' with schema\nKey 'size' not in 'ModelConfig'", "In 'train': Could not find 'model/tiny'",
     "hydra.errors.MissingConfigException: Cannot find primary config 'conf/a.yaml'. Check that it is there",
     "Error locating target 'x.y.Net', see the chained exception.",
     "TypeError: Error instantiating 'x.Net' : __init__() missing 1 required positional argument: 'opt'"],
)  # fmt: skip
def test_a_configuration_that_cannot_be_put_together(error: str) -> None:
    assert "--config-path" in fix(f"{error}\n") or "argument" in fix(f"{error}\n")
    assert name(f"{error}\n") == "job.exception"


def test_an_exception_of_lightning_names_what_it_asks_for() -> None:
    error = (
        "MisconfigurationException: ModelCheckpoint(monitor='acc') not found. HINT: Did you call self.log('acc', x)?"
    )
    assert "self.log('acc'" in fix(f"{TRACEBACK}{error}\n")
    assert "Hydra" not in fix(f"{TRACEBACK}{error}\n")


@pytest.mark.parametrize("order", ["Check that the path is shared", "Did you forget to install the plugin there"])
def test_a_sentence_that_asks_the_reader_to_look_is_advice(order: str) -> None:
    assert f"As the log says: {order}" in fix(f"{TRACEBACK}Exception: no shards. {order}\n")


@pytest.mark.parametrize("words", ["does not appear to be installed", "is not installed", "isn't properly installed"])
def test_what_is_not_installed_is_named(words: str) -> None:
    assert "Install slurmkit" in fix(f"ERROR: slurmkit {words}.\n")


@pytest.mark.parametrize(
    "line",
    ["/opt/bin/lua: /opt/File.lua:210: write error: wrote 397 blocks instead of 412", "ERROR: short write",
     "tool: out.t7: Wrote only 4096 of 10240 bytes: error: leaving"],
)  # fmt: skip
def test_a_write_that_ends_early_points_to_a_full_disk(line: str) -> None:
    found = first(f"saving\n{line}\n")
    assert found is not None
    assert (found.name, found.confidence < 0.5) == ("storage.full", True)


@pytest.mark.parametrize("lead", ["", "[   24.369352] "])
def test_a_check_inside_the_driver_is_no_fault_of_the_program(lead: str) -> None:
    assert name(f"{lead}NVRM: nvAssertFailed: Assertion failed: 0 @ g_kern_gmmu_nvoc.h:2254\n") == ""
    assert name("net.cpp:66] Check failed: Assertion failed: size == 3\n") == "job.exception"


@pytest.mark.parametrize(
    "message",
    ["set-up failed due to an exception in a background process", "it did not start. See stack trace for root cause.",
     "pool closed due to an exception in one of the worker threads; see the traceback"],
)  # fmt: skip
def test_an_exception_that_points_to_another_is_no_cause(message: str) -> None:
    assert name(f"{TRACEBACK}RuntimeError: {message}\n") == "unknown"
    both = f"{TRACEBACK}KeyError: 'lr'\n\n{TRACEBACK}RuntimeError: {message}\n"
    assert name(both) == "job.exception"


@pytest.mark.parametrize(
    ("message", "named"),
    [("Class values must be smaller than num_classes.", "Make Class values smaller than num_classes"),
     ("bad batch: rows should be a multiple of 8", "Make rows a multiple of 8"),
     ("Tuner currently does not work on multi GPU setups", "Run without multi GPU setups"),
     ("Fast mode cannot run with gradient checkpointing yet", "Run without gradient checkpointing")],
)  # fmt: skip
def test_what_a_message_asks_for_by_its_form(message: str, named: str) -> None:
    assert named in fix(f"{TRACEBACK}RuntimeError: {message}\n")


def test_a_polite_word_is_no_advice() -> None:
    assert "understand" not in fix(f"{TRACEBACK}Exception: it is slow today. Please understand our position!\n")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Segmentation fault: 11", "job.exception"),
        ("Bus error: 10", "job.dataloader"),
        ("[ERROR] launcher: Worker process 130673 exit with exception.", "unknown"),
        ("pod t-9s2: Task finished with exit code None.", "unknown"),
        ("Task finished with exit code 0.", ""),
        ("ERROR: SolverError(code 13, the program failed to execute)\nStacktrace:\n [1] gemv at blas.jl:45",
         "job.exception"),
        ("ERROR: SolverError(code 13, the program failed to execute)", "launcher.setup"),
    ],
)  # fmt: skip
def test_ends_in_the_words_of_other_tools(text: str, cause: str) -> None:
    assert name(f"starting\n{text}\n") == cause


@pytest.mark.parametrize("words", ["Cannot open file /d/a.bin for sample 5", "failed to load '/d/a.bin'"])
def test_a_file_that_cannot_be_opened_is_named(words: str) -> None:
    assert "Make /d/a.bin exist" in fix(f"ERROR: reader.cpp:37: {words}\n")
