"""A supervised training on this machine: started, watched from outside, and read when it is over."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.waiting import until

BIN = Path(sys.executable).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "train_gloo.py"
FAULTY = Path(__file__).with_name("faulty_train.py")


@dataclass
class Supervised:
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def output(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def log(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def run(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode((self.folder / "run" / "run.json").read_bytes())
        return found

    def until(self, true: Callable[[], object], within: float = 90.0) -> None:
        until(true, lambda: self.output + self.log, within, lambda: self.process.poll() is None)

    def end(self, within: float = 180.0) -> int:
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
            raise AssertionError(self.output[-2000:] + self.log[-5000:]) from None

    def worker(self, rank: int) -> int:
        """The process of a rank, found as the supervisor's descendant."""
        from holdfast.supervisor import processes

        for pid in processes.below(self.process.pid):
            if processes.variable(pid, "RANK") == str(rank):
                return pid
        raise AssertionError(f"no rank {rank} below {self.process.pid}")


def supervise(folder: Path, command: Sequence[str | Path], *options: str, wrap: Sequence[str] = ()) -> Supervised:
    """`wrap` stands before everything, such as `ip netns exec NAME`."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = [
        *wrap, BIN / "holdfast", "run", "--folder", folder / "run", "--node", folder.name, "--grace-seconds", "2",
        "--backoff-seconds", "0.2", "--probe", "true", *options, "--", *command,
    ]  # fmt: skip
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{BIN}:{os.environ['PATH']}"}
    environ["HOLDFAST_JOB_SECRET_FILE"] = str(folder.parent / "job.secret")  # the nodes of a test share no folder
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen([str(word) for word in whole], stdout=out, stderr=err, env=environ)
    return Supervised(folder, process)


def training(folder: Path, *fault: str, steps: int = 45, timeout: int = 120) -> list[str | Path]:
    """The example over four processes; with a fault, its spoiled form."""
    program = [FAULTY, *fault, "--"] if fault else [EXAMPLE]
    options = ["--steps", str(steps), "--timeout-seconds", str(timeout), "--checkpoints", folder / "checkpoints"]
    return [BIN / "torchrun", "--standalone", "--nproc-per-node", "4", *program, *map(str, options)]
