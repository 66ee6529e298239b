"""Ranks and keepers as real processes: each rank a node of its own. Started from one process that has torch already."""

import contextlib
import json
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint.keeper.site import socket_path
from tests.ports import free_port
from tests.waiting import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "train.py"
SMALL = ("--width", "16", "--layers", "1", "--batch", "2", "--epoch", "7", "--node-per-rank")
TIMEOUT_SECONDS = 240.0
STARTED: list[BaseProcess] = []

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "torch",
        "torch._dynamo",
        "torch.distributed",
        "holdfast.training.checkpoint.checkpoint",
        "holdfast.training.checkpoint.parts",
    ]
)


def start(target: Callable[..., None], rank: int, world: int, port: int, *arguments: Any) -> BaseProcess:
    process = _context.Process(target=_as_rank, args=(target, rank, world, port, dict(os.environ), arguments))
    process.start()
    STARTED.append(process)
    return process


def end_ranks() -> None:
    """Those of a test that failed would start new keepers for ever."""
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.join()


def _as_rank(
    target: Callable[..., None], rank: int, world: int, port: int, environment: dict[str, str], arguments: Any
) -> None:
    """Runs in the new process."""
    import torch

    torch.set_num_threads(1)
    os.environ.clear()
    os.environ.update(environment, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), HOLDFAST_NODE=f"node{rank}")
    target(*arguments)


def train(arguments: tuple[str, ...], quiet: bool) -> None:
    if quiet:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            os.dup2(nowhere.fileno(), 1)
    sys.argv = ["train.py", *arguments]
    runpy.run_path(str(EXAMPLE), run_name="__main__")


def keeper_pid(folder: Path, job: str, rank: int) -> int:
    lock = socket_path(job, folder, f"node{rank}").with_suffix(".lock")
    return int(lock.read_text()) if lock.exists() and lock.read_text() else 0


def end_keeper(folder: Path, job: str, rank: int, how: signal.Signals = signal.SIGKILL) -> None:
    end_pid(keeper_pid(folder, job, rank), how)


def end_pid(pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    """End it and wait until it is gone; a keeper is nobody's child any more, so its pid is watched."""
    if not pid:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, how)
        until(lambda: not _runs(pid), f"process {pid} ends", TIMEOUT_SECONDS)


def _runs(pid: int) -> bool:
    try:
        ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not ended or len(os.listdir(f"/proc/{pid}/task")) > 1  # other threads may still hold its sockets
    except OSError:
        return False


@dataclass
class Run:
    """A training run of the example with its restarts."""

    folder: Path
    steps: int
    world: int = 4
    options: tuple[str, ...] = ()
    quiet: bool = True
    starts: int = 0
    ranks: list[BaseProcess] = field(default_factory=list)

    def start(self) -> None:
        port = free_port()
        arguments = ("--dir", str(self.folder), "--steps", str(self.steps), *SMALL, *self.options)
        self.ranks = [start(train, rank, self.world, port, arguments, self.quiet) for rank in range(self.world)]
        self.starts += 1

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, what, TIMEOUT_SECONDS, lambda: all(rank.exitcode in (None, 0) for rank in self.ranks))

    def until_step(self, step: int) -> None:
        """Wait until rank 0 of the newest start has got so far."""
        self.until(lambda: len(self.loads()) == self.starts, f"load {self.starts}")
        self.until(lambda: self.last_step() >= step, f"step {step}")

    def kill(self, rank: int) -> None:
        """SIGKILL one, and the others after it, as a supervisor does."""
        pid = self.ranks[rank].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        for process in self.ranks:
            process.kill()
            process.join()

    def finish(self) -> dict[str, Any]:
        for process in self.ranks:
            process.join(TIMEOUT_SECONDS)
            assert process.exitcode == 0, f"a rank ended with {process.exitcode}"
        result: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return result

    def journal(self, rank: int = 0) -> list[dict[str, Any]]:
        path = self.folder / f"journal.{rank}"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def last_step(self) -> int:
        steps = [row["step"] for row in self.journal() if "step" in row]
        return steps[-1] if steps and "step" in self.journal()[-1] else -1

    def loads(self, rank: int = 0) -> list[tuple[int, str]]:
        return [(row["at"], row["from"]) for row in self.journal(rank) if "at" in row]
