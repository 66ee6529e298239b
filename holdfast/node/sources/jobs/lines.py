"""Messages of training processes: which process may report for which rank, and limits. No sockets here."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.formats.job import orders as job_orders
from holdfast.formats.job.progress import Ended, Hello, KeeperProgress, ProgressError, Steps, decode
from holdfast.formats.job.windows import WindowTally
from holdfast.model.wire.keeper import KeeperReport
from holdfast.model.wire.progress import RankWindow
from holdfast.node.sources.jobs.peer import Peer

MOST_LINES = 512
MOST_OF_ONE_USER = 256
RESERVED_LINES = 64  # for users that have few: one person may own many user ids, and several may be greedy
FEW_LINES = 16  # as many as a node has ranks
MOST_MESSAGES = 2_000  # of one line between two cuts
FLUSH_AGAIN_SECONDS = 30.0
MOST_KEEPERS = 64


class ConnectionRefused(ValueError):
    """Why a connection is closed, as one sentence for the peer."""


@dataclass(slots=True)
class JobConnection:
    """The connection of a rank that reports progress, or of a keeper that reports its holdings. `say` never blocks."""

    peer: Peer
    say: Callable[[bytes], object]
    tally: WindowTally | None = None
    keeper: KeeperProgress | None = None
    messages: int = 0
    flush_asked_at: float = float("-inf")


class Lines:
    """One thread adds messages, another takes the sums."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._lines: list[JobConnection] = []
        self._over: list[RankWindow] = []  # of connections that ended since the last read

    def open(self, peer: Peer, say: Callable[[bytes], object] = len) -> JobConnection:
        with self._guard:
            if len(self._lines) >= MOST_LINES:
                raise ConnectionRefused(f"{MOST_LINES} processes report here already")
            own = sum(line.peer.uid == peer.uid for line in self._lines)
            if own >= MOST_OF_ONE_USER:
                raise ConnectionRefused(f"{MOST_OF_ONE_USER} processes of this user report here already")
            if own >= FEW_LINES and len(self._lines) >= MOST_LINES - RESERVED_LINES:
                raise ConnectionRefused(f"the last {RESERVED_LINES} places are for users with few processes here")
            line = JobConnection(peer, say)
            self._lines.append(line)
            return line

    def receive(self, line: JobConnection, text: bytes) -> bool:
        """True for the first message, which gets an answer. Raises Refused if the connection must be closed."""
        with self._guard:
            line.messages += 1
            if line.messages > MOST_MESSAGES:
                raise ConnectionRefused(f"more than {MOST_MESSAGES} messages at once")
            try:
                message = decode(text)
            except ProgressError as error:
                raise ConnectionRefused(str(error)) from None
            if isinstance(message, KeeperProgress) and line.tally is None:
                first, line.keeper = line.keeper is None, message
                return first
            if line.tally is None:
                if not isinstance(message, Hello) or line.keeper is not None:
                    raise ConnectionRefused("expected hello first")
                self._admit(line, message)
                line.tally = WindowTally(message, line.peer.owner)
                return True
            match message:
                case Steps():
                    line.tally.add(message)
                case Ended():
                    line.tally.end("closed")
                case Hello() | KeeperProgress():
                    raise ConnectionRefused("a second hello")
            return False

    def send(self, order: bytes, gpu: int | None, at: float) -> None:
        """Notify every rank that used this GPU at that time, and ranks whose GPU is not known."""
        with self._guard:
            for line in self._lines:
                hello = line.tally.hello if line.tally is not None else None
                if hello is not None and hello.began <= at and (gpu is None or hello.gpu in (None, gpu)):
                    line.say(order)

    def have_flushed(self, seconds: float, now: float) -> None:
        """Asks keepers, repeatedly, to write to storage the copies that only they have."""
        with self._guard:
            for line in self._lines:
                held = line.keeper is not None and line.keeper.unsaved_step >= 0
                if held and now - line.flush_asked_at >= FLUSH_AGAIN_SECONDS:
                    line.flush_asked_at = now
                    line.say(job_orders.flush(seconds))

    def unsaved(self) -> tuple[str, ...]:
        """Jobs with state in a keeper here that is not in storage."""
        with self._guard:
            held = [line.keeper for line in self._lines if line.keeper is not None]
        return tuple(sorted({keeper.job for keeper in held if keeper.unsaved_step >= 0}))

    def kept(self) -> tuple[KeeperReport, ...]:
        """The last reported holdings of the keepers here, in a stable order."""
        with self._guard:
            reported = [(line.keeper, line.peer.owner) for line in self._lines if line.keeper is not None]
        found = [
            KeeperReport(job=keeper.job, owner=owner, unsaved_step=keeper.unsaved_step, holds=keeper.holds)
            for keeper, owner in reported
            if keeper.holds is not None
        ]
        return tuple(sorted(found, key=lambda one: (one.job, one.owner, one.holds.node)))[:MOST_KEEPERS]

    def _admit(self, line: JobConnection, hello: Hello) -> None:
        """A job name belongs to its user while any of its processes is connected; a rank is one process."""
        for other in self._lines:
            if other.tally is None or other.tally.ended or other.tally.hello.job != hello.job:
                continue
            if other.peer.uid != line.peer.uid:
                raise ConnectionRefused(f"another user's job on this node is called {hello.job}")
            if other.peer.work != line.peer.work:
                raise ConnectionRefused(
                    f"another job of yours on this node is called {hello.job}; give each its own name"
                )
            if other.tally.hello.rank == hello.rank:
                raise ConnectionRefused(f"rank {hello.rank} of {hello.job} is process {other.peer.pid} already")

    def close(self, line: JobConnection, now: float) -> None:
        with self._guard:
            self._lines.remove(line)
            if line.tally is None:
                return
            line.tally.end("gone")
            if (window := line.tally.cut(now)) is not None:
                self._over.append(window)
                del self._over[:-MOST_LINES]

    def cut(self, now: float) -> list[RankWindow]:
        with self._guard:
            over, self._over = self._over, []
            cuts = []
            for line in self._lines:
                line.messages = 0
                if line.tally is not None and not line.tally.ended:
                    cuts.append(line.tally.cut(now))
            return [*over, *(window for window in cuts if window is not None)]
