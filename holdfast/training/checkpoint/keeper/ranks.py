"""The keeper's server for ranks: lends buffers, takes copies, returns them. Unix socket only."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint.device.buffers import Shelf
from holdfast.training.checkpoint.keeper.deference import Deference
from holdfast.training.checkpoint.keeper.flush import Flushing
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.next_buffer import NextBuffer
from holdfast.training.checkpoint.keeper.pacing import Gaps, RateLimit, behind_training
from holdfast.training.checkpoint.keeper.peers import PeerConnection
from holdfast.training.checkpoint.keeper.replication import Replication, RunMembers
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from holdfast.training.checkpoint.keeper.storing import Storing
from holdfast.training.checkpoint.keeper.wire import (
    Message,
    NotTrusted,
    PeerProcess,
    WireError,
    accept_for_ever,
    close_listener,
    receive,
    same_user,
    send,
)

LOG = logging.getLogger(__name__)
PREDECESSOR_SECONDS = 10.0  # time for a killed process to disappear before its successor is refused


@dataclass(frozen=True, slots=True)
class Parts:
    """Components of the keeper."""

    store: ShardStore
    replication: Replication
    flushing: Flushing
    storing: Storing
    secret: bytes
    troubles: dict[str, str]  # current problems, by subject
    gaps: Gaps
    rate_limit: RateLimit
    shelf: Shelf


class RankServer:
    """Accepts the ranks of this node."""

    def __init__(self, path: Path, parts: "Parts", about: Message) -> None:
        self.store, self.replication, self.flushing = parts.store, parts.replication, parts.flushing
        self.storing, self.secret, self.troubles, self.about = parts.storing, parts.secret, parts.troubles, about
        self.gaps, self.rate_limit, self.shelf = parts.gaps, parts.rate_limit, parts.shelf
        self.hashing = ThreadPoolExecutor(1, "hashing", initializer=behind_training)  # while the next step computes
        self._preparing = ThreadPoolExecutor(1, "preparing", initializer=behind_training)
        self.last_seen = time.monotonic()
        self._attached: dict[int, RankConnection] = {}
        self._changed = threading.Condition()
        self.deference = Deference(self._is_awaited)
        self.store.on_room = self._offer_buffers
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen(64)

    def start(self) -> None:
        threading.Thread(target=accept_for_ever, args=(self._listener, self._serve), name="server", daemon=True).start()

    def close(self) -> None:
        close_listener(self._listener)

    def busy(self) -> bool:
        """Whether a rank is connected. A rank that ended does not count, although a child may keep its connection
        open."""
        with self._changed:
            for visit in self._attached.values():
                visit.leave_if_ended()
            return bool(self._attached)

    def attached(self) -> list[int]:
        return sorted(self._attached) if self.busy() else []

    def idle_seconds(self) -> float:
        """Seconds since the last rank left; 0 while one is connected."""
        return 0.0 if self.busy() else time.monotonic() - self.last_seen

    def rows(self) -> list[list[object]]:
        """Copies held here, in host or GPU memory."""
        held = [copy.row() for copy in self.store.held()]
        return held + [row for row in self.shelf.rows() if row not in held]

    def _is_awaited(self) -> bool:
        """Whether a rank waits, or background work is overdue."""
        return self.gaps.awaited() or self.replication.overdue.now() or self.flushing.overdue.now()

    def prepare(self, rank: int, size: int) -> None:
        """Prepares the buffer of the rank's next save while the rank computes."""
        self._preparing.submit(self.store.prepare, rank, size)

    def _offer_buffers(self) -> None:
        for visit in list(self._attached.values()):
            visit.next_buffer.offer()

    def attach(self, rank: int, visit: "RankConnection") -> None:
        """Attaches one process per rank: a second job of the same name is refused, and a restarted rank waits for
        its predecessor."""
        with self._changed:
            if not self._changed.wait_for(lambda: rank not in self._attached, PREDECESSOR_SECONDS):
                pid = self._attached[rank].pid
                raise WireError(f"rank {rank} of job {self.about['job']} already runs here as process {pid}")
            self._attached[rank] = visit
        self.deference.starting()

    def detach(self, visit: "RankConnection") -> None:
        with self._changed:
            left = {rank: other for rank, other in self._attached.items() if other is not visit}
            if len(left) < len(self._attached):  # a client that only asks for the status is no rank
                self.last_seen = time.monotonic()
            self._attached = left
            self._changed.notify_all()

    def _serve(self, client: socket.socket, _: object) -> None:
        visit = RankConnection(self, client)
        with client:
            try:
                visit.process = PeerProcess(same_user(client))
                visit.talk()
            except NotTrusted as error:
                LOG.warning("connection of a local process refused: %s", error)
            except OSError:
                return  # it ended, with or without a message
            finally:
                visit.leave()


class RankConnection:
    """One rank's connection."""

    def __init__(self, server: RankServer, client: socket.socket) -> None:
        self._server, self._client = server, client
        self.pid = 0
        self.process = PeerProcess(0)
        self._rank, self._world = -1, 0
        self._lent: dict[int, Pages] = {}
        self._known: set[int] = set()  # buffers whose descriptor this process already has
        self.next_buffer = NextBuffer(server.store)

    def talk(self) -> None:
        doings: dict[str, Callable[[Message], tuple[Message, tuple[int, ...]]]] = {
            "attach": self._attach,
            "join": self._join,
            "reserve": self._reserve,
            "seal": self._seal,
            "fetch": self._fetch,
            "lend": self._lend,
            "land": self._land,
            "fetch_gpu": self._fetch_gpu,
            "drop": self._drop,
            "flush": self._flush,
            "status": self._status,
        }
        while True:
            order = receive(self._client)
            doing = doings.get(str(order.get("do")))
            try:
                if doing is None or (self._rank < 0 and order["do"] not in ("attach", "status")):
                    raise WireError(f"not an order: {str(order.get('do'))[:40]}")
                answer, fds = doing(order)
            except (OSError, KeyError, TypeError, ValueError) as error:
                answer, fds = {"error": str(error)}, ()
            with suppress(OSError):  # it may be gone, but its earlier messages are still processed
                send(self._client, {**answer, "troubles": dict(self._server.troubles)}, fds)

    def leave_if_ended(self) -> None:
        if self.process.ended():
            with suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)  # its earlier messages are still processed

    def leave(self) -> None:
        self.next_buffer.end()
        for pages in self._lent.values():
            self._server.store.give_up(self._rank, pages)
        self._server.gaps.left(self._rank)
        self._server.detach(self)
        self.process.close()

    def _attach(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        if order["job"] != self._server.about["job"]:
            raise WireError(f"this keeper serves job {self._server.about['job']}, not {order['job']}")
        self.pid = int(order["pid"])
        self._server.attach(int(order["rank"]), self)
        self._rank, self._world = int(order["rank"]), int(order["world"])
        self._server.shelf.greet(self._rank)
        mark = self._server.gaps.mark_of(self._rank)
        self.next_buffer.begin(self._rank, mark)
        return {**self._server.about, "held": self._server.rows(), "on_gpu": self._server.shelf.rows()}, (mark.fd,)

    def _join(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        members = RunMembers(
            attempt=str(order["attempt"]),
            world=self._world,
            node=self._server.about["node"],
            addresses={str(node): str(address) for node, address in order["addresses"].items()},
            partners=tuple(order["partners"]),
            counter=str(order["counter"]),
        )
        begins = self._server.replication.join(members)
        if order.get("moved"):
            self._server.replication.announce(self._server.about["address"])
        self._server.flushing.expect(self._rank)
        self._server.flushing.order = (
            sorted(members.addresses).index(members.node) if members.node in members.addresses else 0
        )
        if begins:  # the others of this node may have saved by now
            self._server.storing.begin(members.attempt)
            self._server.flushing.begin(members.attempt, int(order["step"]))
            self._server.store.rewind(int(order["step"]))
            self._server.shelf.rewind(int(order["step"]))
        sizes = {copy.step: copy.size for copy in self._server.store.held() if copy.rank == self._rank}
        if sizes:  # loaded pages stay until the next save is complete, which needs a buffer of its own
            self._server.prepare(self._rank, sizes[max(sizes)])
        if begins and order.get("stores"):
            self._server.flushing.prepare()
        self._server.deference.training()
        return {}, ()

    def _reserve(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        return self._show(self._room(order))

    def _room(self, order: Message) -> Pages:
        size, step = int(order["size"]), order.get("step")
        if isinstance(step, int) and step <= self._server.store.committed:
            raise WireError(
                f"all ranks have saved step {self._server.store.committed}: only a load can go back before it"
            )
        self.next_buffer.take_back()
        with self._server.deference.hurry(self._server.store.on_the_way(self._rank)):
            pages = self._server.replication.reserve(self._rank, size, float(order["timeout"]))
        self._lent[pages.number] = pages
        return pages

    def _show(self, pages: Pages) -> tuple[Message, tuple[int, ...]]:
        new = pages.number not in self._known
        self._known.add(pages.number)
        return {"buffer": pages.number}, (pages.fd,) if new else ()

    def _seal(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        copy = self._keep(self._handed_over(order["buffer"]), order)
        return {"digest": copy.digest}, ()

    def _handed_over(self, number: int) -> Pages:
        offered = self.next_buffer.taken(number)
        if offered is not None:
            self._server.deference.on_time()
        return offered or self._lent.pop(number)

    def _keep(self, pages: Pages, order: Message) -> Copy:
        size = min(int(order["size"]), pages.size)
        step, attempt = int(order["step"]), str(order["attempt"])
        digest, marks = self._server.hashing.submit(pages.fingerprint, size).result()
        copy = Copy(self._rank, step, attempt, self._world, size, digest, pages, marks=marks)
        self._server.store.add(copy)
        self.next_buffer.sealed(size, frozenset(self._known))
        self._server.prepare(self._rank, size)
        self._server.deference.apply()
        if order["store"]:
            self._server.storing.offer(copy)
        self._server.replication.submit(copy)
        return copy

    def _lend(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        return self._server.shelf.lend(self._rank, int(order["size"]), int(order["budget"]), str(order["gpu"])), ()

    def _land(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        """Takes the rank's copy in GPU memory to host memory, from where it is treated like any other copy."""
        pages = self._handed_over(order["buffer"])
        try:
            self._server.shelf.take(self._rank, int(order["step"]), int(order["size"]), order["sums"], pages)
        except OSError:
            self._server.store.give_up(self._rank, pages)
            raise
        copy = self._keep(pages, order)
        self._server.shelf.landed(copy)
        return {"digest": copy.digest}, ()

    def _fetch_gpu(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        return self._server.shelf.fetch(self._rank, int(order["step"])), ()

    def _fetch(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        """A copy of this rank, or of the named one, from this node's memory or fetched from another keeper."""
        rank, step, address = int(order.get("rank", self._rank)), int(order["step"]), str(order["address"])
        self.next_buffer.take_back()
        if address:
            self._server.store.protect_only(rank, ())  # they belong to a run that is over
            with PeerConnection(address, self._server.secret) as caller:
                caller.get(rank, step, self._server.store)
        with self._server.store.reading(rank, step) as copy:
            if copy is None:
                raise WireError(f"step {step} of rank {rank} is not here")
            answer, fds = self._show(copy.pages)
            return {**answer, "row": copy.row()}, fds

    def _drop(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        rank = int(order.get("rank", self._rank))
        self._server.store.drop(rank, int(order["step"]))
        if rank != self._rank:  # it was here only for a load
            self._server.store.trim(rank)
        return {}, ()

    def _flush(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        with self._server.deference.urgent():
            return {"stored": self._server.flushing.flush(float(order["seconds"]))}, ()

    def _status(self, order: Message) -> tuple[Message, tuple[int, ...]]:
        store = self._server.store
        status: dict[str, Any] = {
            "committed": store.committed,
            "used_bytes": store.used_bytes(),
            "keeper": os.getpid(),
        }
        status["ranks"], status["idle_seconds"] = self._server.attached(), self._server.idle_seconds()
        status["sent_bytes"] = self._server.replication.sent_bytes
        status["communicating"] = self._server.gaps.communicating()
        status["waited_for_gaps_seconds"] = self._server.rate_limit.waited_seconds
        return {**self._server.about, **status, "held": self._server.rows(), "on_gpu": self._server.shelf.rows()}, ()
