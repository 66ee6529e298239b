"""The socket for training processes: the kernel says who speaks, a job speaks for itself, bad bytes harm no one."""

import os
import secrets
import selectors
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.formats.job import orders as job_orders
from holdfast.formats.job.progress import LARGEST_MESSAGE, Ended, Hello, KeeperProgress, ProgressStep, Steps, encode
from holdfast.model.wire.keeper import HeldStep, Holdings
from holdfast.model.wire.progress import RankWindow
from holdfast.node.sources.jobs import socket as module
from holdfast.node.sources.jobs.lines import (
    FEW_LINES,
    MOST_LINES,
    MOST_MESSAGES,
    MOST_OF_ONE_USER,
    ConnectionRefused,
    Lines,
)
from holdfast.node.sources.jobs.peer import Peer
from holdfast.node.sources.jobs.socket import JobSocketSource
from tests.waiting import until


def hello(rank: int = 0, job: str = "llama") -> bytes:
    return encode(Hello(job=job, rank=rank, world=4, session=f"s{rank}", began=1.0))


def steps(*numbers: int, split: bool = True) -> bytes:
    return encode(Steps([ProgressStep(number, 10.0 + number, 1.0, 0.1, 0.7, 0.2, 0.0) for number in numbers], split))


@pytest.fixture
def source() -> Iterator[JobSocketSource]:
    with tempfile.TemporaryDirectory() as short:  # a socket's path is short
        one = JobSocketSource(f"{short}/{secrets.token_hex(4)}.sock")
        assert one.read(100.0).blind == ""
        yield one
        one.close()


def line_to(source: JobSocketSource) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.settimeout(60)
    line.connect(source._path)
    return line


def send(line: socket.socket, text: bytes) -> bytes:
    line.send(text)
    return line.recv(4096)


def reading(source: JobSocketSource) -> list[RankWindow]:
    source.read(200.0)
    return [one for one in source.take() if one.steps or one.ended]


def counted(source: JobSocketSource) -> set[str]:
    """The signals of a rank, once its steps are among them: the first readings may know no more than its hello."""
    names = {one.name for one in source.read(200.0).signals}
    return names if "job_rank_step_seconds" in names else set()


def test_a_rank_is_received_and_its_user_is_the_kernels_word(source):
    with line_to(source) as line:
        assert send(line, hello(2)) == b"ok"
        line.send(steps(1, 2, 3))
        window = until(lambda: reading(source))[0]
    assert (window.job, window.rank, window.step) == ("llama", 2, 3)
    assert window.owner == f"uid-{os.getuid()}"
    gone = until(lambda: reading(source))[0]
    assert gone.ended == "gone"


@pytest.mark.parametrize("split", [True, False])
def test_what_is_counted_shows_as_signals_too_and_computing_only_apart_from_waiting(source, split):
    with line_to(source) as line:
        send(line, hello(1))
        line.send(steps(5, split=split))
        names = until(lambda: counted(source))
    assert {"job_rank_own_seconds", "job_rank_wait_seconds"} & names == (
        {"job_rank_own_seconds", "job_rank_wait_seconds"} if split else set()
    )


def test_what_keepers_hold_is_reported_under_their_user(source):
    holds = Holdings(node="n1", ranks=(0, 1), steps=(HeldStep(step=7, own=(0, 1)),))
    with line_to(source) as keeper, line_to(source) as older:
        assert send(keeper, encode(KeeperProgress("llama", 7, holds))) == b"ok"
        assert send(older, encode(KeeperProgress("gpt", 3))) == b"ok"
        (kept,) = source.kept()
        assert (kept.job, kept.owner, kept.unsaved_step, kept.holds) == ("llama", f"uid-{os.getuid()}", 7, holds)
    until(lambda: source.kept() == ())


def test_who_says_that_it_ends_has_closed(source):
    with line_to(source) as line:
        send(line, hello())
        line.send(encode(Ended(3.0)))
    assert until(lambda: reading(source))[0].ended == "closed"


@pytest.mark.parametrize("bad", [b"{", b"\xff" * 50, b"[]", steps(1), b"x" * (LARGEST_MESSAGE + 100), b"null"], ids=len)
def test_who_does_not_start_with_hello_is_reported_why_and_let_go(source, bad):
    with line_to(source) as line:
        answer = send(line, bad)
        assert answer and answer != b"ok" and b"\n" not in answer
        assert line.recv(10) == b""
    with line_to(source) as line:
        assert send(line, hello()) == b"ok"  # the next one is heard


def test_a_rank_is_one_process_at_a_time(source):
    with line_to(source) as first, line_to(source) as second:
        assert send(first, hello(3)) == b"ok"
        assert b"rank 3 of llama is process" in send(second, hello(3))
    until(lambda: reading(source))
    with line_to(source) as third:
        assert send(third, hello(3)) == b"ok"


def on_gpu(rank: int, gpu: int | None) -> bytes:
    return encode(Hello(job="llama", rank=rank, world=4, session=f"s{rank}", began=50.0, gpu=gpu))


def test_ranks_are_reported_of_what_happened_to_their_gpu_in_their_life(source):
    with line_to(source) as first, line_to(source) as second, line_to(source) as third:
        assert [send(first, on_gpu(0, 0)), send(second, on_gpu(1, 1)), send(third, on_gpu(2, None))] == [b"ok"] * 3
        source.send(b"before they were there", None, 40.0)
        source.send(b"to GPU 1", 1, 60.0)
        source.send(b"to all", None, 70.0)
        assert first.recv(100) == b"to all"
        assert [second.recv(100), second.recv(100)] == [b"to GPU 1", b"to all"]
        assert [third.recv(100), third.recv(100)] == [b"to GPU 1", b"to all"]


def test_a_keeper_is_asked_to_flush_while_it_holds_what_storage_does_not(source):
    with line_to(source) as keeper, line_to(source) as done:
        assert send(keeper, encode(KeeperProgress("llama", 7))) == b"ok"
        assert send(done, encode(KeeperProgress("gpt", -1))) == b"ok"
        assert source.unsaved() == ("llama",)
        source.have_flushed(90.0)
        source.have_flushed(90.0)  # not again at once
        assert job_orders.decode(keeper.recv(100)) == job_orders.Flush(90.0)
        keeper.send(encode(KeeperProgress("llama", -1)))
        until(lambda: source.unsaved() == ())
        source.read(1_000.0)
        source.have_flushed(90.0)
        for line in (keeper, done):
            line.setblocking(False)
            with pytest.raises(BlockingIOError):
                line.recv(100)


def test_a_keeper_is_no_rank_and_a_rank_no_keeper(source):
    with line_to(source) as keeper, line_to(source) as rank:
        assert send(keeper, encode(KeeperProgress("llama", 7))) == b"ok"
        assert send(keeper, hello()) == b"expected hello first"
        assert send(rank, hello()) == b"ok"
        assert send(rank, encode(KeeperProgress("llama", 7))) == b"a second hello"


def test_a_second_agent_does_not_take_a_living_ones_socket(source):
    assert "another agent" in JobSocketSource(source._path).read(1.0).blind
    with line_to(source) as line:
        assert send(line, hello()) == b"ok"


def test_what_a_dead_agent_left_is_taken_over(tmp_path: Path):
    with tempfile.TemporaryDirectory() as short:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(f"{short}/s")
        one = JobSocketSource(f"{short}/s")
        assert one.read(1.0).blind == ""
        one.close()


def test_a_place_where_nothing_can_be_bound_is_reported():
    assert "cannot report" in JobSocketSource("/proc/none/jobs.sock").read(1.0).blind


def test_a_name_is_its_users_as_long_as_somebody_of_it_speaks():
    lines = Lines()
    anna = lines.open(Peer(1, 1000, ""))
    lines.receive(anna, hello(0))
    with pytest.raises(ConnectionRefused, match="another user's job"):
        lines.receive(lines.open(Peer(2, 1001, "")), hello(1))
    with pytest.raises(ConnectionRefused, match="give each its own name"):
        lines.receive(lines.open(Peer(3, 1000, "4711")), hello(1))
    assert lines.receive(lines.open(Peer(4, 1001, "")), hello(1, "other"))
    lines.close(anna, 5.0)
    assert lines.receive(lines.open(Peer(5, 1001, "")), hello(0))


def test_a_user_cannot_take_all_places():
    lines = Lines()
    for number in range(MOST_OF_ONE_USER):
        lines.open(Peer(number, 1000, ""))
    with pytest.raises(ConnectionRefused, match="of this user"):
        lines.open(Peer(9, 1000, ""))
    lines.open(Peer(9, 1001, ""))


def test_many_users_leave_places_for_a_user_with_few():
    """One person may own thousands of user ids on a node (/etc/subuid)."""
    lines = Lines()
    with pytest.raises(ConnectionRefused):
        for number in range(MOST_LINES):
            lines.open(Peer(number, 100_000 + number % 3, ""))
    for rank in range(FEW_LINES):
        lines.open(Peer(9_000 + rank, 1, ""))
    with pytest.raises(ConnectionRefused):
        lines.open(Peer(9_999, 1, ""))


def test_a_line_that_says_nothing_ends(source, monkeypatch):
    """The attack: a user opens all the lines it may and says nothing, so that its other jobs cannot report."""
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.0)
    silent = line_to(source)
    assert silent.recv(4096).startswith(b"nothing was said within")
    assert silent.recv(4096) == b""
    until(lambda: not source._lines._lines, "its place is free")


def test_a_line_that_spoke_in_time_stays_open():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        hearing = module._Hearing(listener, Lines(), "/proc", JobSocketSource(""))
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        for mine, _ in pairs:
            known = hearing._lines.open(Peer(pid=1, uid=2, work="a"), len)
            hearing._ready.register(mine, selectors.EVENT_READ, known)
            hearing._silent[mine] = known, 100.0
        (speaks, its_end), (silent, other_end) = pairs
        its_end.send(hello())
        hearing._receive(speaks, hearing._ready.get_key(speaks).data)
        assert its_end.recv(4096) == b"ok"
        hearing._end_silent(99.9)
        assert set(hearing._ready.get_map()) >= {speaks.fileno(), silent.fileno()}
        hearing._end_silent(100.0)
        assert speaks.fileno() >= 0 > silent.fileno()
        for one in (speaks, its_end, other_end):
            one.close()


def test_a_flood_ends_its_own_line():
    lines = Lines()
    line = lines.open(Peer(1, 1000, ""))
    lines.receive(line, hello())
    with pytest.raises(ConnectionRefused, match="messages at once"):
        for _ in range(MOST_MESSAGES):
            lines.receive(line, steps(1))
