"""A RAS service over a real socket, asked by the command."""

import json
import socket
import threading
from pathlib import Path

import pytest

from holdfast.cli.app import run
from tests.formats.nccl.test_ras import TEXT


def serve(answer: bytes) -> str:
    listener = socket.create_server(("127.0.0.1", 0))

    def once() -> None:
        line, _ = listener.accept()
        with line, listener:
            line.recv(1024)
            line.sendall(answer)

    threading.Thread(target=once, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_live_job_is_asked_who_is_behind(capsys: pytest.CaptureFixture[str]) -> None:
    address = serve(b"ERROR: unknown command\nOK\n" + TEXT.encode())
    assert run(["diagnose", "--ras", address, "--json"]) == 0
    cause = json.loads(capsys.readouterr().out)["causes"][0]
    assert cause["cause"] == "job.rank_missing"
    assert "process 77 on 10.0.0.3 is dead" in cause["evidence"][0]["text"]


def test_something_else_on_the_port_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--ras", serve(b"HTTP/1.1 400 Bad Request\r\n")]) == 1
    assert "expected the text output of NCCL's RAS service" in capsys.readouterr().err


def test_nothing_given_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["diagnose"]) == 64
    assert "--ras" in capsys.readouterr().err
