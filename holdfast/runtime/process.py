"""Runs a command from an argument list, never through a shell, with a timeout and a limit of output."""

import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.runtime.errors import NoAnswer

FALLBACK_PATH = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin", "/usr/sbin")  # services often run with a minimal PATH
MOST_BYTES = 128 << 20  # most output; `scontrol show nodes --json` prints 5 kB per node
_PART = 1 << 18
_LONGEST_MESSAGE = 300
_GRACE_SECONDS = 1.0  # how long to wait for the exit after the kill
_POLL_SECONDS = 0.2  # between two calls of `cancelled`


@dataclass(frozen=True, slots=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """stderr, or stdout if stderr is empty, on one line of bounded length."""
        return " ".join((self.err.strip() or self.out.strip()).split())[:_LONGEST_MESSAGE]


def find(name: str, path: str) -> str:
    """The full path of a command, even if PATH is nearly empty."""
    if "/" in name:
        return name
    for folder in (*filter(None, path.split(os.pathsep)), *FALLBACK_PATH):
        candidate = os.path.join(folder, name)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise NoAnswer(f"{name} is not installed here", retryable=False, not_begun=True)


class TooMuchOutput(OSError):
    def __init__(self) -> None:
        super().__init__(errno.EFBIG, f"it printed more than {MOST_BYTES >> 20} MB")


class Cancelled(Exception):
    """The caller does not want the result any more; the message says why."""


def run(
    command: Sequence[str], environ: Mapping[str, str], timeout: float, cancelled: Callable[[], str] = str
) -> CommandResult:
    """Like `capture`, but with text output, and NoAnswer for every error."""
    try:
        done = capture(command, timeout, environ, cancelled)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{command[0]} did not end within {timeout:g} s", retryable=True) from None
    except Cancelled as error:
        raise NoAnswer(f"{command[0]} {error}", retryable=True) from None
    except TooMuchOutput as error:
        raise NoAnswer(f"{command[0]} was ended: {error.strerror}", retryable=False) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in an argument
        raise NoAnswer(f"{command[0]} cannot be run: {error}", retryable=False, not_begun=True) from None
    return CommandResult(done.returncode, *(one.decode(errors="replace") for one in (done.stdout, done.stderr)))


def capture(
    command: Sequence[str],
    timeout: float,
    environ: Mapping[str, str] | None = None,
    cancelled: Callable[[], str] = str,
) -> "subprocess.CompletedProcess[bytes]":
    """Run the command in its own process group. After `timeout` seconds, after more than MOST_BYTES of output, or when
    `cancelled` returns a reason, kill the whole group and raise. TimeoutExpired has the output so far."""
    process = subprocess.Popen(
        command,
        env=None if environ is None else dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = _read(process, timeout, cancelled)
    except BaseException:
        _kill(process)
        raise
    return subprocess.CompletedProcess(command, process.returncode, bytes(out), bytes(err))


def _read(
    process: "subprocess.Popen[bytes]", timeout: float, cancelled: Callable[[], str]
) -> tuple[bytearray, bytearray]:
    """Reads until both pipes are closed and the process has ended, because its children may still print."""
    assert process.stdout is not None and process.stderr is not None
    out, err = bytearray(), bytearray()
    end = time.monotonic() + timeout
    with selectors.DefaultSelector() as pipes, process.stdout, process.stderr:
        pipes.register(process.stdout, selectors.EVENT_READ, out)
        pipes.register(process.stderr, selectors.EVENT_READ, err)
        while True:
            wait = max(0.0, min(_POLL_SECONDS, end - time.monotonic()))
            ready = pipes.select(wait) if pipes.get_map() else []
            for key, _ in ready:
                part = os.read(key.fd, _PART)
                key.data.extend(part)
                if not part:
                    pipes.unregister(key.fileobj)
            if len(out) + len(err) > MOST_BYTES:
                raise TooMuchOutput
            if not pipes.get_map() and _has_ended(process, wait):
                return out, err
            if why := cancelled():
                raise Cancelled(why)
            if time.monotonic() >= end:
                raise subprocess.TimeoutExpired(process.args, timeout, bytes(out), bytes(err))


def _has_ended(process: "subprocess.Popen[bytes]", wait: float) -> bool:
    try:
        process.wait(wait)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process group. Do not wait for a process that is stuck in the kernel, as on a sick GPU."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_GRACE_SECONDS)
    except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
        pass
