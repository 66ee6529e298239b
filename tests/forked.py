"""Processes of ours that start in milliseconds: each is a fork of one process that imported the code once.

They end with the test process, however that ends.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection, arbitrary_address
from pathlib import Path

_CONTEXT = get_context("forkserver")
_PRELOADED = (
    "holdfast.fleet.controller.__main__", "attrs", "pydantic", "sqlite3", "uvicorn.protocols.http.auto", __name__,
)  # fmt: skip
_PR_SET_PDEATHSIG = 1
# What runs; slow tests share their fork server with the ranks that they kill.
HALF = {"quick": False, "short": False, "slow": False}


def serve_forks() -> None:
    """The fork server of this process becomes a fork of it, which has imported everything that the tests did.

    One that is started anew takes seconds to import the same, once per process that runs tests. To be called before a
    thread is started.
    """
    for name in _PRELOADED:
        import_module(name)
    server = forkserver._forkserver  # type: ignore[attr-defined]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(arbitrary_address("AF_UNIX"))
        listener.listen()
        address = listener.getsockname()
        ended, alive = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                os.close(alive)
                forkserver.main(listener.detach(), ended, [])
            finally:
                os._exit(0)
    os.close(ended)
    server._forkserver_address, server._forkserver_alive_fd, server._forkserver_pid = address, alive, pid


class Forked:
    """The part of subprocess.Popen that tests of a server need."""

    def __init__(
        self, main: Callable[[], int], arguments: Sequence[str], log: Path, environ: Mapping[str, str]
    ) -> None:
        _CONTEXT.set_forkserver_preload(list(_PRELOADED))  # now: it is one list for all, and ranks have their own
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
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]  # the server ends with the test
    threading.excepthook, sys.unraisablehook = threading.__excepthook__, sys.__unraisablehook__  # not pytest's
    os.dup2(output.fileno(), sys.stdout.fileno())
    output.close()
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = arguments
    sys.exit(main())
