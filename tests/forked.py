"""Processes of ours that start in milliseconds: each is a fork of one process that imported the code once.

They end with the test process, however that ends.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

_CONTEXT = get_context("forkserver")
_PRELOADED = (
    "holdfast.fleet.controller.__main__", "attrs", "pydantic", "sqlite3", "uvicorn.protocols.http.auto", __name__,
)  # fmt: skip
_CONTEXT.set_forkserver_preload(list(_PRELOADED))
_PR_SET_PDEATHSIG = 1
HALF = {"quick": False}  # whether the quick half runs; slow tests share their fork server with the ranks that they kill


class Forked:
    """The part of subprocess.Popen that tests of a server need."""

    def __init__(
        self, main: Callable[[], int], arguments: Sequence[str], log: Path, environ: Mapping[str, str]
    ) -> None:
        output, written = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=_run, args=(main, list(arguments), written, str(log), dict(environ)), daemon=True
        )
        self._process.start()
        written.close()
        self.stdout = os.fdopen(os.dup(output.fileno()))
        output.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def can_fork(environ: Mapping[str, str]) -> bool:
    """Whether nothing differs that a loader or an interpreter reads when it starts: a fork has started already."""
    changed = {name for name, _ in environ.items() ^ os.environ.items()}
    return not any(name.startswith(("LD_", "PYTHON")) for name in changed)


def _run(main: Callable[[], int], arguments: list[str], output: Connection, log: str, environ: dict[str, str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(output.fileno(), sys.stdout.fileno())
    output.close()
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = arguments
    sys.exit(main())
