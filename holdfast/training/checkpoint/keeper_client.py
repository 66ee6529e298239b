"""A rank's client of its keeper: finds or starts it, and maps its buffers."""

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.training.checkpoint.keeper import next_buffer
from holdfast.training.checkpoint.keeper.deference import wake
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.peers import PeerRefused, checked_row
from holdfast.training.checkpoint.keeper.site import node_name, socket_path
from holdfast.training.checkpoint.keeper.wire import Message, WireError, receive, same_user, send

START_SECONDS = 30.0
ANSWER_SECONDS = 60.0
ROOM_SECONDS = 5.0  # a save waits for the answer, in addition to its timeout
GPU_SECONDS = 30.0  # the first buffer needs a CUDA context
SLOWEST_BYTES_PER_SECOND = 500e6  # the last copy is hashed before the next question is read
OF_A_RANK = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})  # environment variables that mark a process as a trainer
OUTLIVES_ATTEMPTS = "HOLDFAST_OUTLIVES_ATTEMPTS"


@dataclass(frozen=True, slots=True)
class Held:
    """A copy as a keeper describes it."""

    rank: int
    step: int
    attempt: str
    world: int
    size: int
    digest: str

    @classmethod
    def of(cls, row: object) -> "Held":
        return cls(*checked_row(row))


@dataclass(slots=True)
class Keeper:
    """Connection to the keeper of this node."""

    job: str
    folder: Path
    rank: int
    world: int
    options: tuple[str, ...] = ()  # time for starting a keeper
    listen: str = ""  # address where the others look for it, if it was there before
    about: Message = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    _socket: socket.socket | None = None
    _owed: int = 0  # number of answers that are not read yet
    _last_save: str = ""  # why the keeper dropped a copy that was handed over
    _buffers: dict[int, Pages] = field(default_factory=dict)
    _borrowed: dict[tuple[int, int], int] = field(default_factory=dict)  # buffers of other ranks' copies
    _mark: Pages | None = None  # memory shared with the keeper: announces communication, and receives offered buffers
    _pid: int = 0  # process id of the keeper
    _newest: int | None = None  # the last step that was handed over

    def attach(self, start_seconds: float = START_SECONDS, answer_seconds: float = ANSWER_SECONDS) -> list[Held]:
        """Connects and identifies this rank; the keeper answers with its copies. Starts a keeper if there is none."""
        path = socket_path(self.job, self.folder, node_name())
        until = time.monotonic() + start_seconds
        started: subprocess.Popen[bytes] | None = None
        pause = 0.05
        while True:
            try:
                return self._greet(path, answer_seconds)
            except PeerRefused:
                self.close()
                raise
            except OSError as error:  # there is none, or one that is ending: its socket is closed last
                self.close()
                if time.monotonic() > until:
                    raise WireError(f"no keeper answers at {path}: {error}; see {path.with_suffix('.log')}") from error
            if started is None or started.poll() is not None:  # another keeper had the port, and may be gone by now
                if started is not None and started.returncode:  # its old port may belong to another process by now
                    self.listen = self.listen and f"{self.listen.rpartition(':')[0]}:0"
                started = self._start(path)
                pause = min(2 * pause, 2.0)
            time.sleep(pause)

    def _greet(self, path: Path, answer_seconds: float) -> list[Held]:
        self.close()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(answer_seconds)
        self._socket.connect(str(path))
        self._pid = same_user(self._socket)
        hello = {"do": "attach", "job": self.job, "rank": self.rank, "world": self.world, "pid": os.getpid()}
        fds: list[int] = []
        self.about = self._ask(hello, fds, answer_seconds)
        self.listen = str(self.about["address"])
        self._mark = Pages.received(fds[0]) if fds else None
        return [Held.of(row) for row in self.about["held"]]

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def communicating(self, now: bool) -> None:
        if self._mark is not None:
            self._mark.map[0] = now

    def join(self, order: Message, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._ask({"do": "join", **order}, answer_seconds=answer_seconds)
        self._newest = int(order["step"])

    def reserve(self, size: int, timeout_seconds: float, step: int | None = None) -> tuple[int, Pages]:
        """A buffer for this rank's copy of the step, if the step can still be committed.

        An offered buffer is taken without a question, but only for a step that this process has not saved before: only
        such a step is certain not to be committed yet.
        """
        ready = next_buffer.offered(self._mark) if self._mark is not None else None
        pages = self._buffers.get(-1 if ready is None else ready)
        if self._mark and pages and ready is not None and pages.size >= size and self._is_new(step):
            self._receive()
            next_buffer.take(self._mark)
            return ready, pages
        order = {"do": "reserve", "size": size, "timeout": timeout_seconds, "step": step}
        answer, pages = self._ask_pages(order, timeout_seconds + ROOM_SECONDS + size / SLOWEST_BYTES_PER_SECOND)
        return answer["buffer"], pages

    def _is_new(self, step: int | None) -> bool:
        return step is not None and self._newest is not None and step > self._newest

    def seal(self, order: Message) -> None:
        """Hands the buffer over. The answer is read before the next question, so that nothing waits for the hash."""
        self._send({"do": "seal", **order})
        self._newest = int(order["step"])

    def fetch(self, step: int, address: str = "", rank: int | None = None) -> tuple[Held, Pages]:
        """Fetches a copy of a step of this rank or the named one, from this node's memory or through it from
        another's."""
        order = {"do": "fetch", "step": step, "address": address, "rank": self.rank if rank is None else rank}
        answer, pages = self._ask_pages(order)
        held = Held.of(answer["row"])
        if held.rank != self.rank:
            self._borrowed[held.rank, step] = answer["buffer"]
        return held, pages

    def lend(self, order: Message) -> Message:
        """A buffer in GPU memory for this rank's next copy."""
        return self._ask({"do": "lend", **order}, answer_seconds=GPU_SECONDS)

    def land(self, order: Message) -> None:
        """Announces that the buffer in GPU memory is filled: the keeper takes it to host memory, and nothing waits
        for that."""
        self._send({"do": "land", **order})
        self._newest = int(order["step"])

    def fetch_gpu(self, step: int) -> Message:
        return self._ask({"do": "fetch_gpu", "step": step})

    def drop(self, step: int, rank: int | None = None) -> None:
        self._ask({"do": "drop", "step": step, "rank": self.rank if rank is None else rank})
        number = self._borrowed.pop((-1 if rank is None else rank, step), None)
        if number is not None:
            self._buffers.pop(number).close()

    def flush(self, seconds: float) -> list[int]:
        order = {"do": "flush", "seconds": seconds}
        stored: list[int] = self._ask(order, answer_seconds=seconds + ANSWER_SECONDS)["stored"]
        return stored

    def status(self) -> Message:
        return self._ask({"do": "status"})

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        for pages in self._buffers.values():
            pages.close()
        self._buffers.clear()
        self._borrowed.clear()
        if self._mark is not None:
            self._mark.close()
        self._socket, self._owed, self._mark, self._newest = None, 0, None, None

    def _send(self, message: Message) -> None:
        if self._socket is None:
            raise WireError("no keeper is connected")
        send(self._socket, message)
        self._owed += 1

    def _receive(self) -> None:
        """Reads answers about earlier copies that have already arrived, without waiting for others."""
        assert self._socket is not None
        self._socket.settimeout(ANSWER_SECONDS)
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while poller.poll(0):  # also if it hung up, before a copy is made for it
            self._last_save = str(self._read(None).get("error", ""))
        self._add_last_save()

    def _add_last_save(self) -> None:
        if self._last_save:
            self.troubles["last save"] = self._last_save

    def _read(self, fds: list[int] | None) -> Message:
        assert self._socket is not None
        answer = receive(self._socket, fds)
        self._owed -= 1
        self.troubles = answer.get("troubles", {})
        return answer

    def _ask(self, message: Message, fds: list[int] | None = None, answer_seconds: float = ANSWER_SECONDS) -> Message:
        self._send(message)
        assert self._socket is not None
        self._socket.settimeout(answer_seconds)
        with self._awaiting():
            while True:
                answer = self._read(fds)
                if not self._owed:
                    break
                self._last_save = str(answer.get("error", ""))
        self._add_last_save()
        if "error" in answer:
            raise PeerRefused(str(answer["error"]))
        return answer

    @contextmanager
    def _awaiting(self) -> Iterator[None]:
        """Marks that this rank waits: the keeper yields to training on busy processors, but not to a waiting rank."""
        mark = self._mark
        if mark is not None:
            mark.map[next_buffer.WAITS] = 1
        wake(self._pid)
        try:
            yield
        finally:
            if mark is not None:
                mark.map[next_buffer.WAITS] = 0

    def _ask_pages(self, message: Message, answer_seconds: float = ANSWER_SECONDS) -> tuple[Message, Pages]:
        fds: list[int] = []
        answer = self._ask(message, fds, answer_seconds)
        if fds:
            self._buffers[answer["buffer"]] = Pages.received(fds[0])
        return answer, self._buffers[answer["buffer"]]

    def _start(self, path: Path) -> "subprocess.Popen[bytes]":
        """Starts a keeper in its own session and marked for `holdfast run`, so that it survives the end of the
        ranks."""
        environ = {name: value for name, value in os.environ.items() if name not in OF_A_RANK}
        command = [
            sys.executable,
            "-m",
            "holdfast.training.checkpoint.keeper.keeper",
            "--job",
            self.job,
            "--dir",
            str(self.folder),
        ]
        with open(path.with_suffix(".log"), "ab") as log:
            return subprocess.Popen(
                [*command, *self.options, *(("--listen", self.listen) if self.listen else ())],
                env={**environ, OUTLIVES_ATTEMPTS: "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
