"""What a log goes on after is no cause; what ended its process is, whatever stands below."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.diagnosis.rules.diagnose import diagnose
from holdfast.formats.job import calm_end
from holdfast.formats.job.calm_end import CalmEnd
from holdfast.formats.job.context import LineContext
from holdfast.formats.job.line import decode
from holdfast.formats.job.log import JobLog
from tests.diagnosis.test_calm import first_cause

LOGGED = "2026-01-02 10:11:1{} INFO worker: {}\n"
WORK = "".join(LOGGED.format(n, f"batch {n} of the night is read") for n in range(4))
FULL = "2026-01-02 10:11:09 ERROR writer: write failed: [Errno 28] No space left on device: '/w/a'\n"
RAISED = """Traceback (most recent call last):
  File "/w/serve.py", line 8, in answer
    raise ValueError("tokens must be at least 1")
ValueError: tokens must be at least 1
"""
CAUGHT = "2026-01-02 10:11:09 ERROR serve: a request failed\n" + RAISED
BYE = "".join(
    LOGGED.format(n, what) for n, what in enumerate(("closing files", "uploading logs", "exit", "shutting down"))
)
STORE = "[W socket.cpp:663] [c10d] The IPv6 network addresses of (n1, 29500) cannot be retrieved (gai error: -2 - Name or service not known).\n"
ABORTED = (
    "terminate called after throwing an instance of 'c10::CUDAError'\n  what():  CUDA error: unknown error\n"
    + "".join(f"frame #{n}: c10d::Work::run() + 0x{n} (0x15 in /w/libtorch.so)\n" for n in range(5))
)
MEMLOCK = "[166.473] [n1:118:0] ib_log.c:246 UCX ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory\n"
DRIVER = "/w/cuda.py:141: UserWarning: The NVIDIA driver on your system is too old (found version 11000).\n"
SETUP = "> building the model\n> setting seeds to 1234\ntime to start (seconds): 12.1\n"


@pytest.mark.parametrize(
    ("why", "text", "cause"),
    [
        ("the program does what it logs", FULL + WORK, ""),
        ("nothing goes on", FULL, "storage.full"),
        ("too little goes on for so sure an error", FULL + WORK[: len(WORK) // 2], "storage.full"),
        ("it only ends", FULL + BYE, "storage.full"),
        ("the process ended", FULL + WORK + "srun: error: n1: task 0: Exited with exit code 1\n", "storage.full"),
        ("a watchdog fired later", FULL + WORK + "Watchdog caught collective operation timeout\n", "storage.full"),
        ("another error below", FULL + WORK + FULL.replace("/w/a", "/w/b"), "storage.full"),
        ("whoever logs an exception caught it", CAUGHT + WORK, ""),
        ("and a log that ends with it does not", CAUGHT, "job.exception"),
        ("nobody caught it: others go on", RAISED + WORK, "job.exception"),
        ("a warning, then a start", STORE + SETUP, ""),
        ("a warning alone", STORE, "launcher.setup"),
        ("its own daemon goes on", "gated: error: the table of seats is not complete\ngated: 3 seats\n", ""),
        ("another one does", "gated: error: the table of seats is not complete\nother: 3 seats\n", "launcher.setup"),
        ("the work is over", "Training is Over rank 0\nBrokenPipeError: [Errno 32] Broken pipe\n", ""),
        ("the pipe breaks before", "BrokenPipeError: [Errno 32] Broken pipe\n", "unknown"),
        ("a process is told to end", "ERROR 09-27 16:03:02 w.py:120] Worker process pid 26 died, exit code: -15\n" + WORK, ""),
        ("and nothing goes on", "ERROR 09-27 16:03:02 w.py:120] Worker process pid 26 died, exit code: -15\n", "unknown"),
        ("a process is killed, and others go on", "ERROR 09-27 16:03:02 w.py:120] Worker process pid 26 died, exit code: -9\n" + WORK, "host.killed"),
        ("the next attempt came to the end", "failed (exitcode: -9) local_rank: 3 (pid: 44) of binary: python\nTraining completed\n", ""),
        ("the first attempt came to the end", "Training completed\nfailed (exitcode: -9) local_rank: 3 (pid: 44) of binary: python\n", "host.killed"),
        ("a backtrace goes on, not the run", ABORTED, "gpu.other_xid"),
        ("steps of a trainer", "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB\n" + "{'loss': 2.1, 'epoch': 0.1}\n" * 3, ""),
        ("what one may do without", "`flash` package not found, consider installing for better performance: No module named 'flash'.\n", ""),
        ("what is missing", "No module named 'flash'.\n", "job.exception"),
        ("rows of results", MEMLOCK + "# Size  Latency\n" + "1    0.23\n2    0.24\n4    0.31\n8    0.30\n", ""),
        ("no results", MEMLOCK + "# Size  Latency\n", "launcher.setup"),
        ("a warning that says it all", DRIVER, "launcher.setup"),
        ("after which the work goes on", DRIVER + WORK, ""),
        ("numbers of arguments in a kernel line", "[ 178.1] ACPI Warning: _DSM: Argument #4 type mismatch (2015/a-88)\n" * 2, ""),
        ("a data set that was kept", "Using the latest cached version of the dataset since a/b couldn't be found on the Hub\n", ""),
        ("a daemon that started then", FULL + "[2026-01-02T10:11:12.1] slurmd started on Thu\n", ""),
        ("a link of a host that just starts", "[ 9.2] mlx5_core 0000:17:00.0 ens1: Link down\n[ 11.3] mlx5_core 0000:17:00.0 ens1: Link up\n", ""),
        ("and one that stays down", "[ 9.2] mlx5_core 0000:17:00.0 ens1: Link down\n[ 11.3] mlx5_core 0000:17:00.1 ens2: Link up\n", "fabric.port_down"),
    ],
)  # fmt: skip
def test_what_the_log_goes_on_after(why: str, text: str, cause: str) -> None:
    assert first_cause(text) == cause, why


@pytest.mark.parametrize(
    ("why", "text", "found"),
    [
        ("lines of the same form as above", "part 1 read\npart 2 read\nbad\npart 3 read\n", CalmEnd(1, 1)),
        ("lines of another form", "part 1 read\npart 2 read\nbad\nsomething else\n", CalmEnd(0, 1)),
        ("what a library of collectives prints counts for nothing", "bad\nn1:1:2 [0] NCCL INFO comm 0x1 rank 0\n" * 2, CalmEnd()),
        ("a warning is not calm", "x\nx\nbad\nWARNING: it is slow today\n", CalmEnd()),
        ("sentences of a report", "x\nx\nbad\nIt is what I see when I use the second of the nodes\n", CalmEnd()),
        ("frames of compiled code", "x\nx\nbad\nframe #0: c10::Error::Error(int) + 0x42 (0x15 in libc10.so)\n", CalmEnd()),
        ("another line of the same rank", "[rank3]: x\nx\n[rank3]: bad\n[rank3]: memory 12 of 40\n", CalmEnd(0, 1)),
        ("frames of a stack", 'x\nx\nbad\n  File "/w/a.py", line 3, in step\n', CalmEnd()),
    ],
)  # fmt: skip
def test_calm_lines(why: str, text: str, found: CalmEnd) -> None:
    assert calm_end.below(text.encode(), 4, {3}) == found, why


def test_lines_above_the_trouble_are_not_calm_ones_below_it() -> None:
    assert calm_end.below(WORK.encode() + b"bad\n", 105, {105}) == CalmEnd()
    assert calm_end.below(WORK.encode(), 104, {7}) == CalmEnd(4, 4)


def test_a_volume_that_was_late_delays_a_pod_that_runs_then() -> None:
    late = 'Warning  FailedMount  9m kubelet  MountVolume.SetUp failed for volume "d" : context deadline exceeded\n'
    runs = "Normal   Started      8m kubelet  Started container main\n"
    assert first_cause(late + runs) == ""
    assert first_cause(runs + late) == first_cause(late) == "storage.stall"


@pytest.mark.parametrize(
    ("why", "below", "sure"),
    [
        ("nothing", "", True),
        ("one line", SETUP.splitlines()[0] + "\n", True),
        ("two lines", SETUP[:-32], False),
        ("a program that goes on in other words", SETUP, False),
        (
            "a process ended before the rest of the log",
            "srun: error: n1: task 0: Exited with exit code 1\n" + WORK,
            True,
        ),
        ("a process that ended", SETUP + "srun: error: n1: task 0: Exited with exit code 1\n", True),
    ],
)
def test_one_line_is_sure_only_where_the_run_may_have_ended(why: str, below: str, sure: bool) -> None:
    log = JobLog()
    log.feed(
        (
            "OSError: [Errno 28] No space left on device: '/w/a'\nmain: write failed: No space left on device\n" + below
        ).encode()
    )
    found = diagnose(log.finish()).causes[0]
    assert found.name == "storage.full"
    assert (found.confidence >= 0.8) is sure, why


def test_lines_of_the_first_nccl_have_its_prefix() -> None:
    line = decode(b"n1:47744:47745 [0] init.cu:674 WARN Cuda failure 'driver version is insufficient'")
    assert (line.nccl, line.level, line.host, line.place) == (True, "E", "n1", "init.cu:674")


@pytest.mark.parametrize(
    ("above", "read"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"".join(b"%d\n" % n for n in range(20)), [str(n) for n in range(12, 20)]),
        (b"Traceback (most recent call last):\n" + b"x\n" * 20, ["Traceback (most recent call last):", *["x"] * 20]),
    ],
)
def test_the_lines_right_above_are_read_and_more_where_a_traceback_stands(above: bytes, read: list[str]) -> None:
    context = LineContext(b"", above + b"last\n", len(above))
    assert [line.text for line in context.near()] == read


WELL = [
    "step 1201 loss: 2.211",
    '10.0.0.9 - - "POST /v1/completions HTTP/1.1" 200 811',
    "2026-03-05 10:11:12 INFO loader: shard 113 is read",
]


@given(st.lists(st.sampled_from(WELL), min_size=3, max_size=12))
def test_lines_of_a_program_that_works_pass_any_logged_error(lines: list[str]) -> None:
    error = "2026-03-05 10:11:10 ERROR uploader: write of /ckpt/7 failed: OSError: [Errno 5] Input/output error\n"
    for text, passed in ((error + "\n".join(lines) + "\n", True), ("\n".join(lines) + "\n" + error, False)):
        log = JobLog()
        log.feed(text.encode())
        assert (not diagnose(log.finish()).causes) is passed, text
