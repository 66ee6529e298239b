"""Probe workers that start with torch already loaded, so that a bench of many runs pays for it once.

`warm()` starts the server: it loads torch, and forks a worker for every client. The client stands before a worker's
command line: it hands over its input, output and namespaces, and ends when its worker does.
"""

import array
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
START_SECONDS = 300.0


@contextmanager
def warm(place: Path) -> Iterator[list[str]]:
    """The words that stand before a worker's own command line on every host."""
    path = str(place / "warm")
    server = subprocess.Popen([sys.executable, __file__, "--serve", path], stdout=subprocess.PIPE)
    try:
        until = time.monotonic() + START_SECONDS
        while not Path(path).exists() and server.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        yield [sys.executable, "-S", "-E", __file__, path]
    finally:
        server.kill()
        server.wait()


def serve(path: str) -> None:
    import torch.distributed  # noqa: F401  what takes long

    from holdfast.node.probes.sweep import collective, worker  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _take_place_of(client)
            raise SystemExit(worker.main())
        client.close()


def _take_place_of(client: socket.socket) -> None:
    """The client's input, output, error output, network and mounts. `client` stays open until this process ends."""
    fds = array.array("i")
    _, ancillary, _, _ = client.recvmsg(1, socket.CMSG_SPACE(5 * fds.itemsize))
    fds.frombytes(ancillary[0][2])
    libc = ctypes.CDLL(None, use_errno=True)
    for fd, kind in ((fds[3], CLONE_NEWNET), (fds[4], CLONE_NEWNS)):
        if libc.setns(fd, kind):
            raise OSError(ctypes.get_errno(), "setns")
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    for fd in fds:
        os.close(fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    client.detach()


def join(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        own = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in ("net", "mnt")]
        server.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2, *own]))])
        with suppress(OSError):
            server.recv(1)  # ends with the worker


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        join(sys.argv[1])
