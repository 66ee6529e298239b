"""Before a hanging job is ended its ranks are asked; who does not answer is not waited for."""

import os
import select
import socketserver
import threading
from pathlib import Path

import msgspec

from holdfast.supervisor.evidence import capture
from holdfast.supervisor.evidence.stack_capture import StackCapture


def test_a_rank_that_reads_its_pipe_writes_its_dump(tmp_path: Path) -> None:
    pipe = tmp_path / "rank_3.pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def rank() -> None:
        select.select([reading], [], [], 30)
        (tmp_path / "rank_3").write_bytes(b"dump")

    thread = threading.Thread(target=rank)
    thread.start()
    assert capture.ask_for_dumps(tmp_path, timeout_seconds=30) == 1
    assert (tmp_path / "rank_3").exists()
    thread.join()
    os.close(reading)


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_0.pipe")
    (tmp_path / "odd.pipe").mkdir()
    assert capture.ask_for_dumps(tmp_path, timeout_seconds=3600) == 0
    assert capture.ask_for_dumps(tmp_path / "none", timeout_seconds=3600) == 0


def test_stacks_are_kept_for_a_person(tmp_path: Path) -> None:
    capture.stacks(
        [StackCapture(rank=1, host="n1", pid=2, state="S", frames=("f (a.py:1)",))], tmp_path / "a.stacks.json"
    )
    assert msgspec.json.decode((tmp_path / "a.stacks.json").read_bytes())[0]["frames"] == ["f (a.py:1)"]


def test_ras_that_answers_something_else_says_nothing() -> None:
    class Other(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert capture.of_ras("n1", server.server_address[1]) == []
        thread.join()
        closed = server.server_address[1]
    assert capture.of_ras("n1", closed) == []
