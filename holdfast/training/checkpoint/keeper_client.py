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
ROOM_SECONDS = 5.0  # a save waits for it, beyond its timeout
GPU_SECONDS = 30.0  # the first buffer takes a CUDA context
SLOWEST_BYTES_PER_SECOND = 500e6  # the last copy is hashed before the next question is read
OF_A_RANK = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})  # by these a process is known as one that trains
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
    """A conversation with the keeper of this node."""

    job: str
    folder: Path
    rank: int
    world: int
    options: tuple[str, ...] = ()  # for a keeper that has to be started
    listen: str = ""  # where the others look for it, once it was there
    about: Message = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    _socket: socket.socket | None = None
    _owed: int = 0  # answers not yet read
    _last_save: str = ""  # why it was not kept although it was handed over
    _buffers: dict[int, Pages] = field(default_factory=dict)
    _borrowed: dict[tuple[int, int], int] = field(default_factory=dict)  # buffers of other ranks' copies
    _mark: Pages | None = None  # memory shared with the keeper: says that this rank communicates, and offers a buffer
    _pid: int = 0  # of the keeper
    _newest: int | None = None  # step that was handed over last

    def attach(self, start_seconds: float = START_SECONDS, answer_seconds: float = ANSWER_SECONDS) -> list[Held]:
        """Connect and say who we are; what the keeper holds is the answer. Where there is no keeper, start one."""
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
            except OSError as error:  # none is there, or one that is just ending: its door closes last
                self.close()
                if time.monotonic() > until:
                    raise WireError(f"no keeper answers at {path}: {error}; see {path.with_suffix('.log')}") from error
            if started is None or started.poll() is not None:  # another had the place, and may be gone by now
                if started is not None and started.returncode:  # its old port may be another's by now
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
        """A buffer for this rank's copy of the step, if that is one that still can count. One that was offered is taken
        without a question; only a step that this process has not saved before cannot be committed yet."""
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
        """Hand the buffer over. The answer is read before the next question: the hash is not waited for."""
        self._send({"do": "seal", **order})
        self._newest = int(order["step"])

    def fetch(self, step: int, address: str = "", rank: int | None = None) -> tuple[Held, Pages]:
        """A copy of a step, this rank's if no other is named, of this node's memory or through it from another's."""
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
        """The buffer in GPU memory is filled: the keeper takes it to host memory, and no one waits for that."""
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
        """Answers that are there already, of copies handed over before; no one waits for one that is not."""
        assert self._socket is not None
        self._socket.settimeout(ANSWER_SECONDS)
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while poller.poll(0):  # also where it hung up: before a copy is made for it
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
        """The keeper yields to training on busy processors, but not to a rank that waits for it."""
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
        """In a session of its own and marked for `holdfast run`: what ends the ranks does not end the keeper."""
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
