"""The example under `holdfast run -- torchrun`, as a user starts it, and its ranks to be killed one by one."""

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

from tests.waiting import until

WORLD = 4
TIMEOUT_SECONDS = 800.0  # four ranks that import torch, again after each kill, on a machine that may have other work


@dataclass
class Supervised:
    folder: Path
    steps: int
    options: tuple[str, ...] = ()
    in_process: bool = False  # our launcher in the place of torchrun
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    def start(self) -> None:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={WORLD}"]
        if self.in_process:
            torchrun = [sys.executable, "-m", "holdfast.training.launch", f"--nproc-per-node={WORLD}"]
        script = [str(crew.EXAMPLE), "--dir", str(self.folder), "--steps", str(self.steps), *crew.SMALL, *self.options]
        watch = [str(Path(sys.executable).with_name("holdfast")), "run", "--folder", str(self.folder / "run")]
        ask = ["--backoff-seconds", "0.1", "--grace-seconds", "1", "--hang-floor-seconds", "600"]
        with open(self.folder / "output", "ab") as output:
            self.process = subprocess.Popen([*watch, *ask, "--", *torchrun, *script], stdout=output, stderr=output)

    def ranks(self) -> dict[int, int]:
        """Rank and process of those that train in this folder now."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                settings = dict(
                    row.split(b"=", 1) for row in (place / "environ").read_bytes().split(b"\0") if b"=" in row
                )
            except OSError:
                continue
            if str(self.folder).encode() in words and str(crew.EXAMPLE).encode() in words and b"RANK" in settings:
                found[int(settings[b"RANK"])] = int(place.name)
        return found

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
