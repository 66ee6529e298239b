"""A process that runs its script again: what interrupts the script, and what does not."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.training.launch import lifetime, worker
from holdfast.training.launch.worker import Worker
from tests.waiting import until

REPORT = """
import os
from pathlib import Path
with open(Path(__file__).with_name("report"), "a") as report:
    report.write(os.environ["RANK"] + "\\n")
"""
WAITS = """
import threading
while True:
    threading.Event().wait(0.005)
"""
SWALLOWS = """
import threading
while True:
    try:
        threading.Event().wait(0.005)
    except Exception:
        pass
"""


class Stage:
    """A worker in a thread, and the launcher's end of its line."""

    def __init__(self, folder: Path, body: str) -> None:
        self.script = folder / "script.py"
        self.script.write_text(REPORT + body)
        self.ours, self.theirs = socket.socketpair()
        self.ours.settimeout(20)
        self.lines = self.ours.makefile("rb")
        self.raised: list[BaseException] = []
        self.alone = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            Worker(self.theirs, str(self.script), self.alone.set).serve()
        except BaseException as error:  # noqa: BLE001 - what would end the process is what is asked about
            self.raised.append(error)

    def order(self, generation: int, rank: int = 0) -> None:
        message = {"generation": generation, "environ": {"RANK": str(rank)}}
        self.ours.sendall(json.dumps(message).encode() + b"\n")

    def received(self) -> dict[str, object]:
        message: dict[str, object] = json.loads(self.lines.readline())
        return message

    def ended(self) -> bool:
        self.thread.join(20)
        return not self.thread.is_alive()

    def next_script(self, text: str) -> None:
        """For the next run: the one of now has begun, so its own text has been read."""
        until(self.script.with_name("report").exists, "the script begins")
        self.script.write_text(text)

    def report(self) -> list[str]:
        return self.script.with_name("report").read_text().split()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RANK", "")
    monkeypatch.setattr(worker, "CAUSE_SECONDS", 0.01)
    yield
    lifetime.when_saved(lambda: None)


def test_a_script_that_ends_is_not_started_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "")
    stage.order(1, 3)
    assert stage.received() == {"running": 1}
    assert stage.ended() and not stage.raised
    assert stage.report() == ["3"]


@pytest.mark.parametrize("body", [WAITS, SWALLOWS])
def test_a_new_generation_interrupts_the_script_and_starts_it_again(tmp_path: Path, body: str) -> None:
    stage = Stage(tmp_path, body)
    stage.order(1)
    assert stage.received() == {"running": 1}
    stage.next_script(REPORT)  # what runs next comes to its end
    stage.order(2, 1)
    assert stage.received() == {"running": 2}
    assert stage.ended() and not stage.raised
    assert stage.report()[-1] == "1"


def test_an_error_of_the_script_alone_ends_the_process(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "raise ValueError('a shape')")
    stage.order(1)
    assert stage.ended()
    assert [str(error) for error in stage.raised] == ["a shape"]


def test_an_exit_code_of_the_script_is_that_of_the_process(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "raise SystemExit(7)")
    stage.order(1)
    assert stage.ended()
    assert [error.code for error in stage.raised if isinstance(error, SystemExit)] == [7]


def test_an_error_that_a_lost_rank_explains_does_not_end_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collective fails here before the launcher has reported that another rank is gone."""
    monkeypatch.setattr(worker, "CAUSE_SECONDS", 20.0)
    stage = Stage(tmp_path, "raise RuntimeError('Connection closed by peer')")
    stage.order(1)
    assert stage.received() == {"running": 1}
    stage.next_script(REPORT)
    stage.order(2)
    assert stage.received() == {"running": 2}
    assert stage.ended() and not stage.raised


def test_the_first_save_of_a_generation_is_reported_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "from holdfast.training.launch import lifetime\nlifetime.saved()\nlifetime.saved()\n")
    stage.order(4)
    assert stage.ended()
    assert [json.loads(line) for line in stage.ours.recv(4096).splitlines()] == [{"running": 4}, {"saved": 4}]


def test_a_process_without_its_launcher_ends(tmp_path: Path) -> None:
    stage = Stage(tmp_path, WAITS)
    stage.lines.close()
    stage.ours.close()
    assert stage.alone.wait(20)


def test_what_the_last_run_left_open_is_closed_newest_first_and_once() -> None:
    closed = []

    class Thing:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)
            raise OSError("broken")

    things = [Thing("checkpoint"), Thing("progress")]
    for thing in things:
        lifetime.opened(thing)
    lifetime.opened(Thing("gone"))
    lifetime.close_all()
    lifetime.close_all()
    assert closed == ["progress", "checkpoint"]


def test_a_standby_imports_what_the_script_imports_at_its_top_and_runs_nothing_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import json\nfrom os import path\nimport no_such_module\nraise SystemExit(1)\ndef f():\n    import colorsys\n"
    )
    assert len(worker.imports_of(script.read_text())) == 3
    worker.preload(str(script))
