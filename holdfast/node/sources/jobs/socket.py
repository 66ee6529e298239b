"""Progress messages of training processes on this node, over a Unix socket that any user may open.

The kernel identifies the sender. A job reports only about itself, and no report takes a node out of service.
"""

import contextlib
import errno
import logging
import os
import selectors
import socket
import threading
import time
from collections import deque
from functools import partial

from holdfast.formats.job.progress import LARGEST_MESSAGE
from holdfast.model import subject
from holdfast.model.signal import Reading, Signal
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.progress import WINDOW_SECONDS, RankWindow
from holdfast.node.sources.jobs.lines import ConnectionRefused, JobConnection, Lines
from holdfast.node.sources.jobs.peer import peer_of
from holdfast.runtime.threads import run_contained

log = logging.getLogger("holdfast.node.sources")
FULL_SECONDS = 0.5
FIRST_SECONDS = 10.0  # a new connection must identify itself within this time
MOST_WINDOWS = 4_096  # windows that were not read yet


class JobSocketSource:
    """The job socket as a source. It is bound at the first read; a thread receives, and `read` returns the sums."""

    name = "job_socket"
    every = WINDOW_SECONDS
    deadline = 10.0
    carries = ("job_rank_step", "job_rank_own_seconds")

    def __init__(self, path: str, proc: str = "/proc") -> None:
        self._path, self._proc = path, proc
        self._lines = Lines()
        self._listener: socket.socket | None = None
        self._windows: deque[RankWindow] = deque(maxlen=MOST_WINDOWS)
        self._now = 0.0

    def read(self, now: float) -> Reading:
        self._now = now
        if self._listener is None and (why := self._listen()):
            return Reading(source=self.name, at=now, blind=why)
        windows = self._lines.cut(now)
        self._windows.extend(windows)
        return Reading(source=self.name, at=now, signals=[one for window in windows for one in _signals(window)])

    def send(self, order: bytes, gpu: int | None, at: float) -> None:
        """Notify the ranks on this GPU, or on all GPUs, of an event during their run."""
        self._lines.send(order, gpu, at)

    def have_flushed(self, seconds: float) -> None:
        self._lines.have_flushed(seconds, self._now)

    def unsaved(self) -> tuple[str, ...]:
        """Jobs with state in keepers here that is not in storage."""
        return self._lines.unsaved()

    def kept(self) -> tuple[KeeperReport, ...]:
        """The copies that the keepers of this node hold now."""
        return self._lines.kept()

    def take(self) -> tuple[RankWindow, ...]:
        """The sums since the last call, for the controller."""
        taken: list[RankWindow] = []
        with contextlib.suppress(IndexError):
            while len(taken) < MOST_WINDOWS:
                taken.append(self._windows.popleft())
        return tuple(taken)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def _listen(self) -> str:
        """'' or why nothing can be received. A dead agent's socket is taken over, a living one's is not."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            if _answers(self._path):
                raise OSError(f"{self._path} is another agent's")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
            listener.bind(self._path)
            os.chmod(self._path, 0o666)
            listener.listen(128)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            return f"training processes cannot report: {error.strerror or error}"
        self._listener = listener
        threading.Thread(target=_Hearing(listener, self._lines, self._proc, self).run, name="jobs", daemon=True).start()
        return ""

    @property
    def now(self) -> float:
        """The time of the last read: accurate enough for the end of a connection."""
        return self._now


class _Hearing:
    """The receiving thread. No input makes it wait or end."""

    def __init__(self, listener: socket.socket, lines: Lines, proc: str, source: JobSocketSource) -> None:
        self._listener, self._lines, self._proc, self._source = listener, lines, proc, source
        self._ready = selectors.DefaultSelector()
        self._ready.register(listener, selectors.EVENT_READ)
        self._silent: dict[socket.socket, tuple[JobConnection, float]] = {}  # no message yet, with deadline

    def run(self) -> None:
        run_contained("job_socket", self._receive_once)
        self._ready.close()

    def _receive_once(self) -> bool:
        for key, _ in self._ready.select(timeout=1.0):
            if key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.fileobj, socket.socket):
                self._receive(key.fileobj, key.data)
        self._end_silent(time.monotonic())
        return self._listener.fileno() >= 0

    def _end_silent(self, now: float) -> None:
        """Close connections that stay silent, to free their slots."""
        for line, (known, until) in list(self._silent.items()):
            if now >= until:
                _answer(line, f"nothing was said within {FIRST_SECONDS:g} s")
                self._end(line, known)

    def _accept(self) -> None:
        try:
            line, _ = self._listener.accept()
        except OSError as error:  # it went again, or we end
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                time.sleep(FULL_SECONDS)  # it stays in the queue: without a pause this thread would spin
            return
        line.setblocking(False)
        try:
            known = self._lines.open(peer_of(line, self._proc), partial(_send, line))
        except (OSError, ConnectionRefused) as error:
            _answer(line, str(error))
            line.close()
            return
        self._ready.register(line, selectors.EVENT_READ, known)
        self._silent[line] = known, time.monotonic() + FIRST_SECONDS

    def _receive(self, line: socket.socket, known: JobConnection) -> None:
        try:
            text = line.recv(LARGEST_MESSAGE + 1)
            if not text:
                self._end(line, known)
            elif self._lines.receive(known, text):
                self._silent.pop(line, None)
                _answer(line, "ok")
        except BlockingIOError:
            return
        except ConnectionRefused as error:
            _answer(line, str(error))
            self._end(line, known)
        except OSError:
            self._end(line, known)
        except Exception as error:
            log.error("a job's message at the socket failed", exc_info=error)
            self._end(line, known)

    def _end(self, line: socket.socket, known: JobConnection) -> None:
        self._ready.unregister(line)
        self._silent.pop(line, None)
        line.close()
        self._lines.close(known, self._source.now)


def _answer(line: socket.socket, text: str) -> None:
    _send(line, text.encode()[:1024])


def _send(line: socket.socket, words: bytes) -> None:
    with contextlib.suppress(OSError):  # never wait for a peer that does not read
        line.send(words)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def _signals(window: RankWindow) -> list[Signal]:
    """For /metrics and for people; the controller gets the window itself."""
    about = f"{subject.job(window.job)}/rank/{window.rank}"
    apart = window.split or window.world == 1  # otherwise compute time includes waiting, and neither is known
    found = {
        "job_rank_step": float(window.step),
        "job_rank_own_seconds": window.own_seconds if window.steps and apart else None,
        "job_rank_step_seconds": window.seconds / window.steps if window.steps else None,
        "job_rank_wait_seconds": window.wait_seconds / window.steps if window.steps and apart else None,
        "job_rank_data_seconds": window.data_seconds / window.steps if window.steps else None,
        "job_rank_checkpoint_seconds": window.checkpoint_seconds / window.steps if window.steps else None,
        "job_rank_loss": window.loss,
        "job_rank_gradient_norm": window.gradient_norm,
    }
    return [Signal(about, name, value) for name, value in found.items() if value is not None]
