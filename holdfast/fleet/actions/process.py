"""Running a command: an argument list and never a shell, with an end to the waiting."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.fleet.actions.backend import NoAnswer

FALLBACK_PATH = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/sbin")  # services often have hardly any PATH
_LONGEST_SAYING = 300
_GRACE = 1.0  # seconds between the kill and giving up on seeing it end
_LOOK_SECONDS = 0.2  # between two questions whether it is still wanted


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What the command said, for a sentence: stderr or stdout, on one line."""
        return " ".join((self.err.strip() or self.out.strip()).split())[:_LONGEST_SAYING]


def find(name: str, path: str) -> str:
    """The command's full name, also where PATH is bare."""
    if "/" in name:
        return name
    for folder in (*filter(None, path.split(os.pathsep)), *FALLBACK_PATH):
        candidate = os.path.join(folder, name)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise NoAnswer(f"{name} is not installed here", retryable=False)


def run(
    command: Sequence[str], environ: Mapping[str, str], timeout: float, unwanted: Callable[[], str] = str
) -> Answer:
    """The command in a process group of its own: when its time is up, or `unwanted` says why it is not wanted any
    more, what it started ends with it."""
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
            out, err = process.communicate(timeout=max(0.0, min(_LOOK_SECONDS, end - time.monotonic())))
            return Answer(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            why = unwanted() or (f"did not end within {timeout:g} s" if time.monotonic() >= end else "")
        if why:
            _give_up(process)
            raise NoAnswer(f"{command[0]} {why}", retryable=True)


def _give_up(process: subprocess.Popen[str]) -> None:
    """End it and its children, without waiting for one that is stuck in the kernel, as on a sick GPU."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_GRACE)
    except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        pass
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
