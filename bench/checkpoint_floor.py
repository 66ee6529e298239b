"""The floor of a save's background work: the same bytes moved by sendfile and a socket, and written by copy, at the
lowest priority that Linux has. No hash, no encryption, no commit: nothing could be loaded from what this leaves.

    python bench/checkpoint_floor.py FILE PORT PEER_PORT [STORED_FILE]      (started by bench/checkpoint.py)
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path


class Mover:
    """A process beside a rank that sends the rank's file to the next rank's process, once for each call."""

    def __init__(self, folder: Path, rank: int, ports: list[int], size: int, stored: bool) -> None:
        self.file = Path("/dev/shm") / f"{folder.name}.{rank}"
        self.file.write_bytes(bytes(size))
        words = [str(self.file), str(ports[rank]), str(ports[(rank + 1) % len(ports)])]
        words += [str(folder / f"floor.{rank}")] if stored else []
        self._process = subprocess.Popen(
            [sys.executable, __file__, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.pid = self._process.pid

    def start(self) -> None:
        assert self._process.stdin is not None
        self._prioritise(os.SCHED_IDLE, 19)
        self._process.stdin.write(b"1")
        self._process.stdin.flush()

    def wait(self) -> None:
        """No one trains now, so that it need not yield: beside other work it would never end."""
        assert self._process.stdout is not None
        self._prioritise(os.SCHED_OTHER, 0)
        self._process.stdout.read(1)

    def _prioritise(self, policy: int, niceness: int) -> None:
        with suppress(OSError):
            for thread in Path(f"/proc/{self.pid}/task").iterdir():
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(0))
            Path(f"/proc/{self.pid}/autogroup").write_text(f"{niceness}\n")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.file.unlink()


def free_ports(count: int) -> list[int]:
    places = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    return ports


def _receive(listener: socket.socket, size: int) -> None:
    held = memoryview(bytearray(size))
    while True:
        peer, _ = listener.accept()
        with peer:
            at = 0
            while at < size and (got := peer.recv_into(held[at : at + (1 << 20)])):
                at += got
            peer.sendall(b"1")


def main() -> None:
    file, port, peer_port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    size = file.stat().st_size
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=_receive, args=(listener, size), daemon=True).start()
    while sys.stdin.buffer.read(1):
        with _connection(peer_port) as peer, file.open("rb") as source:
            peer.sendfile(source)
            peer.recv(1)
        if len(sys.argv) > 4:
            shutil.copyfile(file, sys.argv[4])
            with open(sys.argv[4], "rb") as stored:
                os.fsync(stored.fileno())
        sys.stdout.buffer.write(b"1")
        sys.stdout.buffer.flush()


def _connection(port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
