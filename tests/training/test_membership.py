"""A keeper that hangs or cannot come back costs saves, never the training's time at each of them; and what `save` and
`load` say of it."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import crew
import pytest
import torch

from holdfast.lab.twin import cuda
from holdfast.training import Checkpoint
from holdfast.training.checkpoint import keeper_client as client
from holdfast.training.checkpoint import membership
from holdfast.training.checkpoint.keeper.site import socket_path
from holdfast.training.checkpoint.keeper.wire import WireError
from holdfast.training.checkpoint.keeper_client import Keeper
from holdfast.training.checkpoint.membership import Membership
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.troubles import Troubles
from tests.waiting import until


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")


def state(value: float) -> dict[str, Any]:
    return {"weights": torch.full((1000,), float(value))}


def thread_state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]


@contextmanager
def one_that_never_answers(place: Path) -> Iterator[Callable[[], int]]:
    """What a stopped keeper is to those who come; how many came since the last look."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(socket_path(place.name, place, "node0")))
        door.listen(64)
        door.setblocking(False)

        def came() -> int:
            guests = 0
            while True:
                try:
                    door.accept()[0].close()
                except BlockingIOError:
                    return guests
                guests += 1

        yield came


def test_a_keeper_that_hangs_is_asked_ever_less_often(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(membership, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(membership, "SAVE_SECONDS", 0.01)
    member = Membership(Keeper(place.name, place, 0, 1))
    looks = []
    with one_that_never_answers(place) as came:
        for second in range(3000):
            clock.now = 1000.0 + second
            with pytest.raises(WireError, match=r"no keeper answers at .*timed out"):
                member.join({"addresses": {}}, 1, 0.01)
            if came():
                looks.append(second)
    assert looks == [0, 30, 90, 210, 450, 930, 1530, 2130, 2730]


@pytest.mark.slow
def test_a_stopped_keeper_fails_saves_and_is_used_again_when_it_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ROOM_SECONDS", 0.2)
    ckpt = Checkpoint(place, replicas=1, timeout_seconds=0.1)
    assert ckpt.save(1, state(1))
    ckpt.status()
    pid = crew.keeper_pid(place, place.name, 0)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(thread_state(file) == "T" for file in Path(f"/proc/{pid}/task").glob("*/stat")), "it stands")
    try:
        monkeypatch.setattr(membership, "SAVE_SECONDS", 0.2)
        monkeypatch.setattr(membership, "FIRST_PAUSE_SECONDS", 0.1)
        assert [ckpt.save(step, state(step)) for step in (2, 3, 4)] == [False] * 3
        assert "step 4 was not kept" in ckpt.troubles["save"]
    finally:
        os.kill(pid, signal.SIGCONT)
    monkeypatch.setattr(membership, "SAVE_SECONDS", 5.0)
    monkeypatch.setattr(client, "ROOM_SECONDS", 5.0)
    until(lambda: ckpt.save(5, state(5)), "a save after the keeper went on")
    assert "save" not in ckpt.troubles
    assert {1, 5} >= {row[1] for row in ckpt.status()["held"]} >= {5}
    ckpt.close()


@pytest.mark.slow
def test_a_keeper_whose_port_was_taken_comes_back_at_another(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(1, state(1))
    host, _, port = ckpt.status()["address"].rpartition(":")
    crew.end_keeper(place, place.name, 0)
    monkeypatch.setattr(membership, "FIRST_PAUSE_SECONDS", 0.1)
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind((host, int(port)))
        stranger.listen()
        until(lambda: ckpt.save(2, state(2)), "a save with a new keeper")
        status = ckpt.status()
    assert status["address"].rpartition(":")[0] == host and status["address"] != f"{host}:{port}"
    assert status["committed"] in (-1, 2) and [row[1] for row in status["held"]] == [2]
    ckpt.close()


@pytest.mark.slow
def test_a_second_load_goes_back_and_what_is_saved_after_it_counts(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    into = state(0)
    assert ckpt.load(into) is None
    for step in range(1, 11):
        assert ckpt.save(step, state(step))
    until(lambda: bool(ckpt.status()["committed"] == 10), "step 10 is committed")
    assert ckpt.save(10, state(0)) is False and ckpt.save(3, state(0)) is False
    assert ckpt.troubles["save"] == (
        "step 3 was not kept: all ranks have saved step 10: only a load can go back before it"
    )
    assert (ckpt.load(into), ckpt.loaded_from) == (10, "own memory")
    assert torch.equal(into["weights"], state(10)["weights"])
    ckpt.close()


@pytest.mark.slow
def test_after_going_back_lower_steps_are_kept_and_loaded(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(4, state(4)) and ckpt.flush() == [4]
    assert ckpt.save(9, state(9))
    until(lambda: bool(ckpt.status()["committed"] == 9), "step 9 is committed")
    ckpt.distrust(9, 9, "wrong numbers")
    into = state(0)
    assert (ckpt.load(into), ckpt.loaded_from) == (4, "storage")
    assert ckpt.save(5, state(50)), ckpt.troubles
    until(lambda: bool(ckpt.status()["committed"] == 5), "step 5 is committed")
    assert ckpt.load(into) == 5 and torch.equal(into["weights"], state(50)["weights"])
    ckpt.close()


class Part:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def state_dict(self) -> dict[str, Any]:
        raise self.error


@pytest.mark.slow
def test_whatever_a_part_or_a_step_is_a_save_never_ends_the_training(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    for error in (KeyError("p0"), AttributeError("x"), MemoryError(), AssertionError("a"), IndexError("i")):
        assert ckpt.save(1, {"model": Part(error)}) is False
        assert ckpt.troubles["save"] == f"step 1 was not kept: {error!r}"
    step: Any = None
    assert ckpt.save(step, state(1)) is False
    with pytest.raises(KeyboardInterrupt):
        ckpt.save(1, {"model": Part(KeyboardInterrupt())})
    for _ in range(5):  # fails when it is copied: the buffer that it had is given back
        assert ckpt.save(1, {"model": torch.empty(3, device="meta")}) is False
    assert ckpt.save(1, state(1)) is True and ckpt.troubles == {}
    ckpt.close()


@pytest.mark.slow
def test_what_does_not_fit_in_host_memory_is_false_with_gpu_memory_too(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CUDART", str(cuda.make(tmp_path / "gpus")))
    room = ("--memory-bytes", "40000")
    ckpt = Checkpoint(place, replicas=1, timeout_seconds=0.1, gpu_bytes=64 << 20, keeper_options=room)
    assert ckpt.save(1, state(1)) is True
    for step in (2, 3):
        assert ckpt.save(step, {"weights": torch.ones(100000)}) is False
        assert f"step {step} was not kept: the 3 buffers of rank 0 are all in use" in ckpt.troubles["save"]
    assert ckpt.save(4, state(4)) is True, "nothing was given up"
    assert ckpt.status()["gpu"]["gpu"]
    ckpt.close()


def test_what_the_keeper_says_no_more_is_repaired_and_what_the_rank_knows_stays() -> None:
    troubles = Troubles()
    troubles.report("placement", "two nodes share a rack")
    troubles.update({"storage of rank 0": "step 4 is not in storage", "partner n1": "gone"})
    troubles.update({"partner n1": "gone"})
    assert troubles.all() == {"placement": "two nodes share a rack", "partner n1": "gone"}
    troubles.update({})
    troubles.forget("placement", "save")
    assert troubles.all() == {}


@pytest.mark.slow
def test_an_older_step_of_another_world_size_takes_the_place_of_a_distrusted_one(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(8, state(8)) and ckpt.flush() == [8]
    ckpt.close()
    crew.end_keeper(place, place.name, 0)
    shard, attempt = storage.read(place, 8, 0)
    for owner in range(2):
        about = type(shard.about)(place.name, owner, 2, 4)
        storage.write(place, type(shard)(about, shard.tree, shard.names, shard.tensors), attempt)
    ckpt = Checkpoint(place, replicas=1)
    ckpt.distrust(8, 8, "wrong numbers")
    ckpt.close()
    again, into = Checkpoint(place, replicas=1), state(0)
    assert again.load(into) == 4
    assert into["weights"].any()
    again.close()


def test_the_others_are_reported_of_a_new_address_once_and_also_of_the_way_back() -> None:
    joined: list[bool] = []
    keeper = SimpleNamespace(connected=True, about={"node": "a", "address": "h:1"})
    keeper.join = lambda order, seconds: joined.append(order["moved"])
    member = Membership(keeper)  # type: ignore[arg-type]
    members = {"addresses": {"a": "h:1", "b": "h:5"}}
    for address in ("h:1", "h:2", "h:2", "h:1"):
        keeper.about = {"node": "a", "address": address}
        member._joined = False  # its connection broke
        member.join(members, 1, 1.0)
    assert joined == [False, True, False, True]
    member.meet()
    member._joined = False
    member.join({"addresses": {"a": "h:1"}}, 2, 1.0)
    assert joined[-1] is False
