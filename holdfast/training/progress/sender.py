"""Sends steps to the agent of this node, or to a file without one, on its own thread."""

import contextlib
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from holdfast.formats.job import orders as job_orders
from holdfast.formats.job.progress import MOST_ROWS, Ended, Hello, Message, ProgressStep, Steps, encode

SOCKET = "/run/holdfast/jobs.sock"
SEND_EVERY_SECONDS = 1.0
RETRY_SECONDS = 15.0
TIMEOUT_SECONDS = 2.0  # of the thread, for an agent that does not accept data
MOST_WAITING = 8_192  # steps
MOST_HAPPENED = 256
LARGEST_FILE = 32 << 20
CLOSE_SECONDS = 5.0
Pending = Callable[[], ProgressStep | None]  # of a step that may not be finished on the device


def agent_socket() -> str:
    """Path of the agent's socket: from the environment, of the machine, or of this user's `holdfast up`."""
    named = os.environ.get("HOLDFAST_AGENT_SOCKET")
    if named is not None:
        return named
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    tried = os.path.join(os.environ.get("HOLDFAST_STATE") or os.path.join(base, "holdfast"), "agent", "jobs.sock")
    return tried if os.path.exists(tried) and not os.path.exists(SOCKET) else SOCKET


class Sender:
    """Sends reports. `put` is for the training loop and costs an append; the rest happens in the thread."""

    def __init__(self, hello: Hello, folder: Path) -> None:
        self._hello, self._folder = hello, folder
        self._waiting: deque[Pending] = deque()
        self._line: socket.socket | None = None
        self._retry_at = 0.0
        self._dropped = 0
        self.split = False
        self.saved_step = -1
        self._reported: tuple[int, bool] = (-1, False)
        self._introduced = False  # whether the file names its writer
        self.refused = ""  # why the agent refuses this rank
        # errors of the hardware that the agent reported
        self.happened: deque[tuple[float, str]] = deque(maxlen=MOST_HAPPENED)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-progress", daemon=True)
        self._thread.start()

    def put(self, pending: Pending) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(pending)
        else:
            self._dropped += 1

    def close(self) -> None:
        """Sends the remaining reports; waits for a device or an agent only for a short time."""
        self._stop.set()
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        if not self._connected():
            self._write(self._hello)
        while not self._stop.wait(SEND_EVERY_SECONDS):
            self._flush()
            self._receive()
        self._flush()
        self._deliver(Ended(time.time()))
        if self._line is not None:
            self._line.close()

    def _flush(self) -> None:
        rows: list[ProgressStep] = []
        while self._waiting and len(rows) < MOST_WAITING:
            row = self._waiting[0]()
            if row is None:
                break  # the device has not finished it, nor those after it
            self._waiting.popleft()
            rows.append(row)
        if rows or self._reported != (self.saved_step, self.split):
            self._notify(rows)

    def _notify(self, rows: list[ProgressStep]) -> None:
        self._reported = (self.saved_step, self.split)
        for start in range(0, len(rows) or 1, MOST_ROWS // 4):
            part = rows[start : start + MOST_ROWS // 4]
            self._deliver(Steps(part, self.split, self.saved_step, self._dropped))

    def _deliver(self, message: Message) -> None:
        if self._connected() and self._line is not None:
            try:
                self._line.send(encode(message))
                return
            except OSError:
                self._hang_up()
        self._write(message)

    def _connected(self) -> bool:
        if self._line is not None:
            return True
        if self.refused or time.monotonic() < self._retry_at or not (path := agent_socket()):
            return False
        self._retry_at = time.monotonic() + RETRY_SECONDS
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.settimeout(TIMEOUT_SECONDS)
        try:
            line.connect(path)
            line.send(encode(self._hello))
            answer = line.recv(1024)
        except OSError:
            line.close()
            return False
        if answer != b"ok":
            self.refused = answer.decode("utf-8", "replace") or "the agent closed the line"
            line.close()
            return False
        self._line = line
        return True

    def _receive(self) -> None:
        """Receives messages of the agent without waiting for them."""
        with contextlib.suppress(OSError):
            while self._line is not None and select.select([self._line], [], [], 0)[0]:
                if not (text := self._line.recv(job_orders.LARGEST_ORDER)):
                    self._hang_up()
                    return
                # a newer agent's message, which is not for this version
                with contextlib.suppress(job_orders.OrderError):
                    order = job_orders.decode(text)
                    if isinstance(order, job_orders.RankHardwareError):
                        self.happened.append((order.at, order.what))

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None

    def _write(self, message: Message) -> None:
        """One file per rank, for this user alone; a file that grew too large is rotated once."""
        name = f"{_safe(self._hello.job)}.{self._hello.rank}.jsonl"
        with contextlib.suppress(OSError):  # progress never ends a training
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / name
            if path.exists() and path.stat().st_size > LARGEST_FILE:
                os.replace(path, path.with_suffix(".old"))
                self._introduced = False
            first = b"" if self._introduced or isinstance(message, Hello) else encode(self._hello) + b"\n"
            with open(path, "ab") as file:
                file.write(first + encode(message) + b"\n")
            self._introduced = True


def _safe(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
