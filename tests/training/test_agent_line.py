"""Between the agent of a node and what trains there: errors of the hardware one way, a flush before a release."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from holdfast.lab.twin.inject import inject
from holdfast.lab.twin.node import make_node
from holdfast.node.sources.jobs.socket import JobSocketSource
from holdfast.training import Checkpoint, Guard, Progress
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.untrusted_steps import FILE
from holdfast.training.guard.finding import GuardFinding, GuardFindingKind
from tests.waiting import until

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 240.0


def patiently(condition: Callable[[], bool], what: str) -> None:
    until(condition, what, TIMEOUT_SECONDS)


@pytest.fixture
def agent_socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as short:  # a socket's path is short
        path = Path(short) / "n01" / "run" / "jobs.sock"
        monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", str(path))
        monkeypatch.setenv("HOLDFAST_NODE", "node0")
        yield path


def test_a_keeper_writes_to_storage_when_the_node_is_to_be_released(place: Path, agent_socket: Path) -> None:
    agent = JobSocketSource(str(agent_socket))
    assert agent.read(100.0).blind == ""
    checkpoint = Checkpoint(place, replicas=1)
    assert checkpoint.save(3, {"weights": torch.arange(8.0)})
    patiently(lambda: agent.unsaved() == (place.name,), "the keeper's word of what it holds")
    assert storage.whole_steps(place) == []
    agent.have_flushed(60.0)
    patiently(lambda: agent.unsaved() == (), "the flush")
    assert [step for step, _, _ in storage.whole_steps(place)] == [3]
    checkpoint.close()
    agent.close()


def test_a_keeper_reports_where_its_copies_lie(place: Path, agent_socket: Path) -> None:
    agent = JobSocketSource(str(agent_socket))
    assert agent.read(100.0).blind == ""
    checkpoint = Checkpoint(place, replicas=1, storage_every=2)
    assert checkpoint.load({"weights": torch.zeros(8)}) is None
    assert checkpoint.save(2, {"weights": torch.arange(8.0)})
    assert checkpoint.save(3, {"weights": torch.arange(8.0)})

    def result() -> tuple[object, ...]:
        found = [one for one in agent.kept() if one.holds.steps and not one.holds.storage_unknown]
        return tuple(
            (
                one.job,
                one.unsaved_step,
                one.holds.committed_step,
                [(step.step, step.own, step.stored) for step in one.holds.steps],
            )
            for one in found
        )

    patiently(lambda: result() == ((place.name, 3, 3, [(3, (0,), ()), (2, (), (0,))]),), f"both places, not {result()}")
    (kept,) = agent.kept()
    assert (kept.owner, kept.holds.node, kept.holds.world, kept.holds.replicas) == (f"uid-{os.getuid()}", "node0", 1, 1)
    assert 0 < kept.holds.used_bytes <= kept.holds.budget_bytes
    assert kept.holds.troubles == ()
    checkpoint.close()
    agent.close()


def test_an_xid_on_the_node_makes_the_steps_since_suspect(place: Path, agent_socket: Path) -> None:
    """The whole way: a fault of the twin, its kernel log, the agent, the socket, the guard, the checkpoints."""
    home = agent_socket.parents[1]
    make_node(home)
    log = home / "agent.log"
    command = [sys.executable, "-m", "holdfast.node.agent", "--config", str(home / "holdfast.toml")]
    with log.open("ab") as file, subprocess.Popen(command, stdout=file, stderr=file, env=dict(os.environ)) as agent:
        try:
            patiently(agent_socket.exists, "the agent listens")
            found = suspected(home, place)
        finally:
            agent.kill()
    assert found.kind is GuardFindingKind.HARDWARE
    assert "xid" in found.what
    assert found.since > 3, "what was before it is not suspect"
    assert f'"since": {found.since}' in (place / FILE).read_text()
    again = Checkpoint(place, replicas=1)
    assert (again.load({"weights": torch.zeros(8)}), again.loaded_from) == (3, "storage")
    again.close()


def suspected(home: Path, place: Path) -> GuardFinding:
    """Train until the guard says something, and save around it."""
    checkpoint = Checkpoint(place, replicas=1)
    found: list[GuardFinding] = []
    with Progress(place.name) as progress:
        guard = Guard(nn.Linear(4, 4), vote_every=0, checkpoint=checkpoint, progress=progress)
        step = 0

        def one_step() -> None:
            nonlocal step
            step += 1
            with progress.step():
                time.sleep(0.01)
            found.extend(guard.step(step))

        while step < 3:
            one_step()
        checkpoint.save(step, {"weights": torch.full((8,), float(step))})
        assert checkpoint.flush() == [3]
        inject(home, "xid", gpu=0)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not found:
            assert time.monotonic() < deadline, "the guard was told nothing"
            one_step()
        checkpoint.save(step, {"weights": torch.full((8,), float(step))})
        checkpoint.status()  # it is the newest now, and not to be loaded
        checkpoint.close()
    return found[0]
