"""Captures the stack of each local rank through py-spy, or its kernel wait channel."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from holdfast.runtime import process
from holdfast.supervisor import processes

_TIMEOUT_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")
_USER_TIME, _SYSTEM_TIME = 11, 12  # of /proc/PID/stat, counted from the state


@dataclass(frozen=True, slots=True, kw_only=True)
class StackCapture:
    rank: int
    host: str
    pid: int
    state: str  # R, S, D, T as the kernel says it
    frames: tuple[str, ...] = ()  # innermost first: 'function (file.py:12)'; without py-spy one kernel function
    cpu_seconds: float = 0.0
    io_bytes: int = 0

    def moved_since(self, earlier: "StackCapture") -> bool:
        """Whether the rank did any work. Spinning in a collective is no work."""
        if (self.pid, self.frames) != (earlier.pid, earlier.frames) or self.io_bytes != earlier.io_bytes:
            return True
        return self.cpu_seconds - earlier.cpu_seconds > 0.5 and not self.in_collective

    def only_spins_since(self, earlier: "StackCapture") -> bool:
        """Whether it only used CPU time at the same place, like a rank that waits for its GPU."""
        same = (self.pid, self.frames, self.io_bytes) == (earlier.pid, earlier.frames, earlier.io_bytes)
        return same and self.cpu_seconds > earlier.cpu_seconds

    @property
    def in_collective(self) -> bool:
        return any("distributed_c10d.py" in frame or "synchronize (torch" in frame for frame in self.frames[:6])


def at_ranks(child: int, host: str) -> list[StackCapture]:
    """The processes below the command that have a rank; of several with one rank the first, which has the others."""
    found: dict[int, int] = {}
    for pid in [child, *processes.below(child)]:
        rank = processes.variable(pid, "RANK") or processes.variable(pid, "SLURM_PROCID")
        if rank.isdecimal():
            found.setdefault(int(rank), pid)
    return [_at(rank, pid, host) for rank, pid in sorted(found.items())]


def _at(rank: int, pid: int, host: str) -> StackCapture:
    fields = processes.stat_of(pid)
    cpu = sum(int(fields[place]) for place in (_USER_TIME, _SYSTEM_TIME)) / _TICKS if fields else 0.0
    state = fields[0] if fields else "X"
    frames = () if state in "TX" else _python_stack(pid) or _kernel_wait(pid)
    return StackCapture(
        rank=rank, host=host, pid=pid, state=state, frames=frames, cpu_seconds=cpu, io_bytes=_io_bytes(pid)
    )


def py_spy() -> str | None:
    """Path of py-spy, next to our own Python or on the path."""
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _python_stack(pid: int) -> tuple[str, ...]:
    program = py_spy()
    if program is None:
        return ()
    command = [program, "dump", "--json", "--nonblocking", "--pid", str(pid)]
    try:
        done = process.capture(command, _TIMEOUT_SECONDS)
        done.check_returncode()
        threads = msgspec.json.decode(done.stdout)
    except (subprocess.SubprocessError, OSError, msgspec.DecodeError, RecursionError):
        return ()
    return _main_thread(threads)


def _main_thread(threads: Any) -> tuple[str, ...]:
    try:
        main = next((one for one in threads if one.get("thread_name") == "MainThread"), threads[0])
        return tuple(f"{one['name']} ({one['short_filename']}:{one['line']})" for one in main["frames"])
    except (KeyError, IndexError, TypeError, AttributeError):
        return ()


def _kernel_wait(pid: int) -> tuple[str, ...]:
    try:
        wait = Path(f"/proc/{pid}/wchan").read_text("ascii", "replace").strip()
    except OSError:
        return ()
    return () if wait in ("", "0") else (f"{wait} (kernel)",)


def _io_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("read_bytes", "write_bytes")))
