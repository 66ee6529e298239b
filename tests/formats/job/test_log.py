"""Logs of jobs: what is read from them, in any pieces, and what is only quoted in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job.log import JobLog
from holdfast.model.evidence import Evidence
from tests.counts import draws

STEPS = [f"step {n} loss {3 - n / 1000:.4f} time 12.00ms" for n in range(30)]
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
TRACEBACK = ["Traceback (most recent call last):", '  File "/w/train.py", line 7, in main', "    y = model(x)", OOM]


def read(*lines: str, piece: int = 0) -> list[Evidence]:
    data = ("\n".join(lines) + "\n").encode()
    log = JobLog()
    for start in range(0, len(data), piece or len(data)):
        log.feed(data[start : start + (piece or len(data))])
    return [one for one in log.finish() if one.event.code != "progress"]


def reported(*lines: str) -> list[tuple[str, str]]:
    return [(one.role, one.cause) for one in read(*lines)]


MESSAGES = [
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<33> with error 12, opcode 0, len 0, vendor err 129", "strong", "fabric.retry_exceeded"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<33> with status=5 opcode=0 len=0 vendor err 249 (Recv)", "effect", ""),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<33> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129  hca mlx5_1", "strong", "fabric.retry_exceeded"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<33> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249  hca mlx5_1", "effect", ""),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IBP:Got completion from peer 7.6.13.83<36315> with status=12 opcode=32698 len=32696 vendor err 129 (Send)", "strong", "fabric.retry_exceeded"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : Got async event : port error", "strong", "fabric.port_down"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : mlx5_0:1 async fatal event: local catastrophic error", "strong", "fabric.hca"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : mlx5_0:1 async fatal event on QP (0x7f6): local access violation work queue error", "weak", "fabric.hca"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: GID table change(18)", "note", ""),
    ("n1:5:6 [0] t.cc:9 NCCL WARN Cuda failure 2 'out of memory'", "strong", "job.cuda_oom"),
    ("n1:5:6 [0] t.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", "strong", "launcher.setup"),
    ("[Rank 1] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered", "strong", "gpu.ecc_uncorrectable"),
    ("[Rank 1] NCCL watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered", "strong", "job.illegal_access"),
    ("RuntimeError: cuda runtime error (39) : uncorrectable ECC error encountered at /p/aten/THC.cpp:265", "strong", "gpu.ecc_uncorrectable"),
    ("Unable to determine the device handle for GPU0000:03:00.0: Unknown Error", "strong", "gpu.fell_off_bus"),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup. Some of your processes may have been killed.", "strong", "host.oom"),
    ("slurmstepd: error: Detected 2 oom_kill events in StepId=13.13. Some of the step tasks have been OOM Killed.", "strong", "host.oom"),
    ("RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that workers are out of shared memory.", "strong", "job.dataloader"),
    ("[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to 10.0.0.1:1234", "strong", "launcher.setup"),
    ("[W socket.cpp:601] [c10d] The client socket has failed to connect to [::]:29500 (errno: 99 - Cannot assign requested address).", "note", ""),
    ("[E ProcessGroupNCCL.cpp:587] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800117 milliseconds before timing out.", "watchdog", ""),
    ("ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 3 (pid: 9) of binary: /p", "exit", ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "role", "cause"), MESSAGES)
def test_a_message(line: str, role: str, cause: str) -> None:
    assert (role, cause) in reported(line)


@pytest.mark.parametrize(
    "line",
    [
        "sample 3: 'RuntimeError: CUDA out of memory. Tried to allocate 20 MiB'",
        '{"text": "srun: error: n1: task 3: Out Of Memory"}',
        "# n1:5:6 [0] NCCL WARN NET/IB : Got async event : port error",
        '    raise OSError("No space left on device")',
        'if "CUDA out of memory" in str(error):',
        "get_socket_with_portz\0\0Address already in usez\0RuntimeError: CUDA out of memory",
        "otherwise an ``address already in use`` error will happen.",
        "we learned how to read NVRM: and Watchdog caught collective operation timeout lines",
    ],
)
def test_words_about_errors_are_no_errors(line: str) -> None:
    assert reported(line) == []


def test_an_exception_is_as_good_as_its_traceback() -> None:
    assert reported(*TRACEBACK) == [("strong", "job.cuda_oom")]
    assert reported("ValueError: no such thing") == [("weak", "job.exception")]


def test_interleaved_tracebacks_keep_their_ranks() -> None:
    first = [f"[rank3]: {line}" for line in TRACEBACK]
    second = [f"[rank1]: {line}" for line in [*TRACEBACK[:3], "RuntimeError: NCCL communicator was aborted on rank 1."]]
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    found = read(*mixed)
    assert [(one.rank, one.role, one.cause) for one in found] == [(3, "strong", "job.cuda_oom"), (1, "effect", "")]
    assert found[0].word("where") == "train.py:7 in main"


def test_what_python_goes_on_after_is_not_reported() -> None:
    assert (
        reported("Exception ignored in: <function X.__del__ at 0x7f>", *TRACEBACK[:3], "TypeError: 'NoneType' object")
        == []
    )


def test_the_table_of_the_launcher_reports_rank_host_and_time() -> None:
    found = read(
        "Root Cause (first observed failure):", "[0]:", "  time      : 2026-03-04_11:00:05", "  host      : n7",
        "  rank      : 12 (local_rank: 4)", "  exitcode  : -9 (pid: 14750)",
    )  # fmt: skip
    assert [(one.rank, one.host, one.word("first"), one.number("exit")) for one in found] == [(12, "n7", "yes", -9)]
    assert found[0].at > 0


def test_a_wrapped_watchdog_line_is_read_with_the_next() -> None:
    found = read(
        "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpTy",
        "pe=BROADCAST, NumelIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds before timing out.",
    )
    assert (found[0].number("seq"), found[0].number("ran_ms")) == (4, 1800010)


def test_steps_after_an_error_are_counted_and_a_restart_is_none() -> None:
    (oom,) = [one for one in read(*STEPS[:10], *TRACEBACK, *STEPS[10:]) if one.cause]
    assert (oom.number("steps_after"), oom.number("step")) == (20, 9)
    (oom,) = [one for one in read(*STEPS[:10], *TRACEBACK, *STEPS[:3]) if one.cause]
    assert oom.number("steps_after") == 0


def test_the_same_end_after_a_restart_is_known() -> None:
    (oom,) = [one for one in read(*STEPS[:10], *TRACEBACK, *STEPS[:10], *TRACEBACK) if one.cause]
    assert (oom.word("again"), oom.event.count) == ("yes", 2)


def test_pieces_of_any_size_give_the_same() -> None:
    lines = [
        *STEPS,
        *TRACEBACK,
        "[rank1]: " + OOM,
        "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.",
    ]
    whole = read(*lines)
    assert [read(*lines, piece=size) for size in (1, 7, 64, 1000)] == [whole] * 4


def test_windows_line_ends_and_colours_change_nothing() -> None:
    plain = [(one.role, one.cause, one.event.line) for one in read(*TRACEBACK)]
    assert [(one.role, one.cause, one.event.line) for one in read(*[line + "\r" for line in TRACEBACK])] == plain
    assert [(one.role, one.cause, one.event.line) for one in read(*[f"\x1b[31m{x}\x1b[0m" for x in TRACEBACK])] == plain


def test_a_line_of_many_megabytes_is_passed_over_in_little_memory() -> None:
    log = JobLog()
    for _ in range(40):
        log.feed(b"x" * (1 << 18))
    log.feed(b"\n" + OOM.encode() + b"\n")
    (oom,) = log.finish()
    assert (oom.cause, oom.event.line) == ("job.cuda_oom", 2)


def test_a_storm_is_one_piece_of_evidence() -> None:
    found = read(*["n1:5:6 [0] t.cc:9 NCCL WARN NET/IB : Got async event : port error"] * 1000)
    assert [(one.event.count, one.number("last_line")) for one in found] == [(1000, 1000)]


@given(st.lists(st.sampled_from([*STEPS[:3], *TRACEBACK, *(line for line, _, _ in MESSAGES)])), st.binary(max_size=300))
def test_no_log_is_too_strange(lines: list[str], noise: bytes) -> None:
    log = JobLog()
    log.feed("\n".join(lines).encode())
    log.feed(noise)
    log.feed("\n".join(lines).encode())
    assert all(one.event.line > 0 for one in log.finish())


def test_a_storm_is_counted_to_its_end_and_hides_nothing_behind_it() -> None:
    log = JobLog()
    for number in range(40):
        lines = [f"RuntimeError: Connection refused {number * 250 + one}" for one in range(250)]
        log.feed(("\n".join(lines) + "\n").encode())
    log.feed(b"n1:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n")
    found = log.finish()
    assert sum(one.event.count for one in found if one.event.kind == "exception") == 10_000
    assert [one.cause for one in found if one.word("problem") == "rdma_memlock"] == ["launcher.setup"]


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("n1:1:2 [0] NCCL INFO NET/Plugin : libnccl-net.so: cannot open shared object file: No such file", None),
        ("WARNING 02-25 11:12:31 x.py:1] OSError: [Errno 24] Too many open files", "hint"),
        ("ERROR 02-25 11:12:31 x.py:1] cannot accept: Too many open files", "strong"),
        ("  --limit N   raise it when Too many open files is reported", None),
    ],
)
def test_the_level_of_a_line_decides_how_much_a_problem_counts(line: str, role: str | None) -> None:
    log = JobLog()
    log.feed((line + "\n").encode())
    roles = [one.role for one in log.finish() if one.word("problem")]
    assert roles == ([role] if role else [])


def test_the_line_below_last_error_is_what_nccl_reported() -> None:
    log = JobLog()
    log.feed(
        b"[rank7]: Last error:\n[rank7]: Cuda failure 217 'peer access is not supported between these two devices'\n"
    )
    assert "nccl_peer_access" in [one.word("problem") for one in log.finish()]


def test_what_a_sentence_quotes_is_doubted() -> None:
    assert reported("we get `Memory access fault by GPU node-1 on address 0x7f` after a day") == [
        ("weak", "job.illegal_access")
    ]


@pytest.mark.parametrize(
    "line",
    [
        "it may fail with `RuntimeError: CUDA error: device-side assert triggered` otherwise",
        "INFO 07-25 06:50:45 config.py:7] set `RuntimeError: CUDA out of memory` aside",
        '{"text": "they wrote RuntimeError: CUDA error: unknown error"}',
    ],
)
def test_what_only_may_happen_is_not_quoted(line: str) -> None:
    assert reported(line) == []


def test_a_long_text_quotes_data() -> None:
    lines = [f"line {n}" for n in range(70)]
    assert reported(*lines, "we get `Memory access fault by GPU node-1 on address 0x7f`") == []


def test_a_run_with_steps_quotes_data() -> None:
    assert reported(*STEPS, "sample: we get `Memory access fault by GPU node-1 on address 0x7f`") == []


@pytest.mark.parametrize("row", ["RANK 3 PID 11 RUNNING AT cn12", "PID 11 RUNNING AT cn12"])
@pytest.mark.parametrize("end", ["KILLED BY SIGNAL: 9 (Killed)", "EXIT CODE: 9", "EXIT STATUS: 255"])
def test_the_banner_of_hydra_names_who_ended(row: str, end: str) -> None:
    log = JobLog()
    log.feed(f"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   {row}\n=   {end}\n".encode())
    (found,) = [one for one in log.finish() if one.role == "exit"]
    assert found.host == "cn12"
    assert found.rank == (3 if row.startswith("RANK") else None)


def test_a_storm_does_not_hide_a_line_of_another_shape() -> None:
    """Of lines that are alike some thousand are read; one that is new is read whatever came before it."""
    log = JobLog()
    storm = b"".join(
        b"Connection reset by peer %d%s\n" % (number, b"abcdefghijklmnopqrst"[number % 20 :])
        for number in range(draws(8_000, 40_000))
    )
    log.feed(storm + b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n" + storm)
    assert any(one.cause == "job.cuda_oom" for one in log.finish())
