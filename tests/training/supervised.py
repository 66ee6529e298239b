"""The example under `holdfast run -- torchrun`, and its ranks to be killed one by one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crew

from holdfast.supervisor import processes
from tests.waiting import until

WORLD = 4
TORCHRUN = Path(__file__).with_name("forked_torchrun.py")
TIMEOUT_SECONDS = 800.0  # four ranks that import torch, again after each kill, on a machine that may have other work


@dataclass
class Supervised:
    folder: Path
    steps: int
    options: tuple[str, ...] = ()
    in_process: bool = False  # our launcher in the place of torchrun
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    def start(self) -> None:
        torchrun = [sys.executable, str(TORCHRUN), "--standalone", f"--nproc-per-node={WORLD}"]
        if self.in_process:
            torchrun = [sys.executable, "-m", "holdfast.training.launch", f"--nproc-per-node={WORLD}"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # torchrun sets it too late for what it forks
        script = [str(crew.EXAMPLE), "--dir", str(self.folder), "--steps", str(self.steps), *crew.SMALL, *self.options]
        watch = [str(Path(sys.executable).with_name("holdfast")), "run", "--folder", str(self.folder / "run")]
        ask = ["--backoff-seconds", "0.1", "--grace-seconds", "1", "--hang-floor-seconds", "600"]
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen(
                [*watch, *ask, "--", *torchrun, *script], stdout=output, stderr=output, env=environment
            )

    def ranks(self) -> dict[int, int]:
        """Rank and process of those that train now. Ours are named by their environment; forks have none of their own,
        and torchrun starts them in the order of their ranks."""
        assert self.process is not None
        below = processes.below(self.process.pid)
        if self.in_process:
            return {int(rank): pid for pid in below if (rank := processes.variable(pid, "RANK"))}
        parents = {pid: int(fields[1]) for pid in below if (fields := processes.stat_of(pid))}
        torchrun = [pid for pid in below if parents.get(pid) == self.process.pid and str(TORCHRUN) in command(pid)]
        return dict(enumerate(sorted(pid for pid in below if parents.get(pid) in torchrun)))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        process = self.process
        assert process is not None
        until(condition, lambda: f"{what}\n{self.output()}", TIMEOUT_SECONDS, lambda: process.poll() is None)

    def until_step(self, step: int, starts: int) -> None:
        self.until(lambda: len(self.loads()) >= starts and self.last_step() >= step, f"step {step} of start {starts}")

    def kill(self, rank: int) -> int:
        """SIGKILL one rank; the last step it told before."""
        os.kill(self.ranks()[rank], signal.SIGKILL)
        return self.last_step()

    def finish(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.wait(TIMEOUT_SECONDS) == 0, self.output()
        result: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return result

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(TIMEOUT_SECONDS)

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")[-3000:]

    def journal(self, rank: int = 0) -> list[dict[str, Any]]:
        path = self.folder / f"journal.{rank}"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def last_step(self) -> int:
        rows = self.journal()
        return int(rows[-1].get("step", -1)) if rows else -1

    def loads(self, rank: int = 0) -> list[tuple[int, str]]:
        return [(row["at"], row["from"]) for row in self.journal(rank) if "at" in row]


def command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []
