"""Runs a command from an argument list, never through a shell, with a timeout."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.runtime.errors import NoAnswer

FALLBACK_PATH = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/sbin")  # services often have hardly any PATH
_LONGEST_MESSAGE = 300
_GRACE_SECONDS = 1.0  # between the kill and giving up on the exit
_POLL_SECONDS = 0.2  # between two calls of `cancelled`


@dataclass(frozen=True, slots=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """stderr, or stdout where stderr is empty, on one line of bounded length."""
        return " ".join((self.err.strip() or self.out.strip()).split())[:_LONGEST_MESSAGE]


def find(name: str, path: str) -> str:
    """The full path of a command, also where PATH is nearly empty."""
    if "/" in name:
        return name
    for folder in (*filter(None, path.split(os.pathsep)), *FALLBACK_PATH):
        candidate = os.path.join(folder, name)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise NoAnswer(f"{name} is not installed here", retryable=False)


def run(
    command: Sequence[str], environ: Mapping[str, str], timeout: float, cancelled: Callable[[], str] = str
) -> CommandResult:
    """Run the command in its own process group. After `timeout` seconds, or when `cancelled` returns a reason, kill the
    whole group and raise NoAnswer."""
    try:
        process = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a null byte in an argument
        raise NoAnswer(f"{command[0]} cannot be run: {error}", retryable=False) from None
    end = time.monotonic() + timeout
    while True:
        try:
            out, err = process.communicate(timeout=max(0.0, min(_POLL_SECONDS, end - time.monotonic())))
            return CommandResult(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            why = cancelled() or (f"did not end within {timeout:g} s" if time.monotonic() >= end else "")
        if why:
            _kill(process)
            raise NoAnswer(f"{command[0]} {why}", retryable=True)


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill the process group. Do not wait for a process that is stuck in the kernel, as on a sick GPU."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_GRACE_SECONDS)
    except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        pass
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
