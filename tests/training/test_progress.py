"""Progress alone: what a step is made of, files where there is no agent, and that nothing of it ends a training."""

import json
import secrets
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from holdfast.diagnosis.evidence.rank_files import read
from holdfast.formats.job.progress import Ended, Hello, Steps, decode
from holdfast.model.refusal import Refusal
from holdfast.node.sources.jobs.socket import JobSocketSource
from holdfast.training import Progress
from holdfast.training.progress import progress as progress_module
from holdfast.training.progress import sender as progress_sender
from holdfast.training.progress.clock import DeviceMarker
from holdfast.training.progress.sender import agent_socket
from tests.waiting import until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", str(tmp_path / "nobody.sock"))
    yield tmp_path / "kept"


class StepClock:
    """The clock of `Progress`: it moves only when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(progress_module, "time", self)
        self.time = time.time

    def perf_counter(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StepClock:
    return StepClock(monkeypatch)


def messages(folder: Path, job: str, rank: int = 0) -> list[Hello | Steps | Ended]:
    return [decode(line) for line in (folder / f"{job}.{rank}.jsonl").read_bytes().splitlines()]


def rows(folder: Path, job: str):  # type: ignore[no-untyped-def]
    return [row for one in messages(folder, job) if isinstance(one, Steps) for row in one.rows]


class Listening:
    def __init__(self) -> None:
        self.calls: list[bool] = []

    def communicating(self, now: bool) -> None:
        self.calls.append(now)


def test_a_checkpoint_is_reported_when_a_rank_communicates(folder):
    listening = Listening()
    with Progress("gaps") as progress:
        progress.watch(torch.nn.Linear(1, 1), listening)
        with progress.step(), progress.waiting():
            assert listening.calls == [False, True]
        with pytest.raises(OSError), progress.step(), progress.waiting():
            raise OSError("the other side closed the connection")
    assert listening.calls == [False, True, False] * 2


def test_a_step_is_data_compute_waiting_and_saving_and_they_add_up(folder, clock):
    with Progress("parts", rank=3, world=8, gpu=1, group="first", step=40) as progress:
        for _ in range(3):
            clock.passes(1.0)  # the loader
            with progress.step(tokens=7):
                clock.passes(8.0)
                with progress.waiting("pipeline:0-1"):
                    clock.passes(2.0)
                progress.note(loss=torch.tensor(2.5), gradient_norm=0.5)
            with progress.saving(progress.made):
                clock.passes(4.0)
    hello, *_, ended = messages(folder, "parts", 3)
    assert isinstance(hello, Hello) and (hello.rank, hello.world, hello.gpu, hello.group) == (3, 8, 1, "first")
    assert isinstance(ended, Ended)
    result = [row for one in messages(folder, "parts", 3) if isinstance(one, Steps) for row in one.rows]
    assert [(row.step, row.seconds, row.data, row.compute, row.wait, row.checkpoint) for row in result] == [
        (41, 11.0, 1.0, 8.0, 2.0, 0.0),
        (42, 15.0, 1.0, 8.0, 2.0, 4.0),  # what was saved after a step is part of the next
        (43, 15.0, 1.0, 8.0, 2.0, 4.0),
    ]
    for row in result:
        assert row.links == {"pipeline:0-1": 2.0}
        assert (row.loss, row.gradient_norm, row.tokens) == (2.5, 0.5, 7)
    last = [one for one in messages(folder, "parts", 3) if isinstance(one, Steps)][-1]
    assert last.saved_step == 43 and last.split


def test_a_step_that_raises_is_not_counted(folder):
    with pytest.raises(RuntimeError), Progress("raises", rank=0, world=1) as progress:
        with progress.step():
            pass
        with progress.step():
            raise RuntimeError
    assert [row.step for row in rows(folder, "raises")] == [1]


def test_a_loss_that_is_no_number_is_none_and_harms_no_one(folder):
    with Progress("odd", rank=0, world=1) as progress:
        for value in (float("nan"), torch.ones(3), "high", None):
            with progress.step():
                progress.note(loss=value)
    assert [row.loss for row in rows(folder, "odd")] == [None] * 4


def test_a_folder_that_cannot_be_written_harms_no_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", "/proc/none")
    monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", str(tmp_path / "nobody.sock"))
    with Progress("nowhere", rank=0, world=1) as progress, progress.step():
        pass
    assert progress.made == 1


def test_a_model_that_is_not_ddp_is_not_watched(folder):
    with Progress("plain", rank=0, world=1) as progress:
        assert not progress.watch(torch.nn.Linear(2, 2))


def test_files_are_counted_as_the_controller_would_have(folder, clock):
    for rank in range(4):
        with Progress("kept", rank=rank, world=4) as progress:
            for _ in range(5):
                with progress.step(tokens=10):
                    clock.passes(1.0)
            progress.saved(3)
    found = read(str(folder), "kept")
    assert (found["world"], found["ranks_reporting"], found["step"], found["state"]) == (4, 4, 5, "closed")
    assert found["exposure"]["saved_step"] == 3 and found["exposure"]["steps"] == 2
    assert sum(found["gpu_hours"].values()) == pytest.approx(found["elapsed_seconds"] * 4 / 3600)
    json.dumps(found)


def test_files_that_are_not_there_or_not_ours_are_reported(tmp_path):
    (tmp_path / "x.0.jsonl").write_bytes(b"\xff\x00 no\n{}\n" + b"y" * 200_000)
    with pytest.raises(Refusal, match=r"none was found"):
        read(str(tmp_path), "x")
    with pytest.raises(Refusal, match="cannot be read"):
        read(str(tmp_path / "none"), "x")


def test_the_agent_is_preferred_and_one_that_refuses_is_not_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", str(tmp_path / "kept"))
    with tempfile.TemporaryDirectory() as short:
        source = JobSocketSource(f"{short}/{secrets.token_hex(4)}.sock")
        source.read(time.time())
        monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", source._path)
        received = []
        with Progress("llama", rank=1, world=2) as first:
            until(lambda: received.extend(source.take()) or (source.read(time.time()) and received))
            with Progress("llama", rank=1, world=2) as second:
                until(lambda: second.refused)
            with first.step():
                pass
        until(
            lambda: (source.read(time.time()) and received.extend(source.take())) or any(one.ended for one in received)
        )
        source.close()
    assert "rank 1 of llama is process" in second.refused and not first.refused
    assert sum(one.steps for one in received) == 1 and received[-1].ended == "closed"


def test_an_agent_that_goes_away_leaves_a_file_that_says_whose_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", str(tmp_path / "kept"))
    with tempfile.TemporaryDirectory() as short:
        source = JobSocketSource(f"{short}/{secrets.token_hex(4)}.sock")
        source.read(time.time())
        monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", source._path)
        with Progress("left", rank=0, world=1) as progress:
            until(lambda: source.read(time.time()) and source.take())
            until(lambda: progress._sender._line is not None)  # it has read the agent's answer
            source.close()
            progress._sender._hang_up()  # as when the agent's process dies
            progress._sender._retry_at = time.monotonic() + 600
            with progress.step():
                pass
    first, *more = messages(tmp_path / "kept", "left")
    assert isinstance(first, Hello) and [row.step for row in rows(tmp_path / "kept", "left")] == [1] and more


class Event:
    """A CUDA event of a device that comes to its marks when told to."""

    reached: ClassVar[set[int]] = set()
    count = 0

    def __init__(self, enable_timing: bool) -> None:
        Event.count += 1
        self.number = Event.count

    def record(self) -> None: ...

    def query(self) -> bool:
        return self.number in Event.reached

    def elapsed_time(self, later: "Event") -> float:
        return 1e3 * (later.number - self.number)


def test_marks_on_a_device_are_asked_for_and_never_waited_for():
    class Cuda:
        pass

    cuda = Cuda()
    cuda.Event = Event  # type: ignore[attr-defined]
    marker = DeviceMarker(cuda)
    first, second = marker.mark(), marker.mark()
    assert marker.seconds(first, second) is None
    Event.reached = {first.number, second.number}
    assert marker.seconds(first, second) == 1.0


def test_the_agent_of_this_users_trial_is_found_where_the_machine_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_AGENT_SOCKET", raising=False)
    monkeypatch.setenv("HOLDFAST_STATE", str(tmp_path))
    monkeypatch.setattr(progress_sender, "SOCKET", str(tmp_path / "machine.sock"))
    assert agent_socket() == str(tmp_path / "machine.sock")
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "jobs.sock").touch()
    assert agent_socket() == str(tmp_path / "agent" / "jobs.sock")
    (tmp_path / "machine.sock").touch()
    assert agent_socket() == str(tmp_path / "machine.sock"), "the machine's own comes first"
    monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", "")
    assert agent_socket() == ""
