"""Connections between keepers: shards over TCP, encrypted with keys derived from the job's secret."""

import logging
import socket
import threading
from collections.abc import Callable, Sequence

import xxhash

from holdfast.training.checkpoint.format.increments import checked_parts
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.pacing import RateLimit, behind_training
from holdfast.training.checkpoint.keeper.shard_store import Copy, Full, ShardStore
from holdfast.training.checkpoint.keeper.wire import (
    CHUNK,
    Channel,
    Message,
    NotTrusted,
    WireError,
    accept_for_ever,
    close_listener,
)

LOG = logging.getLogger(__name__)
SILENCE_SECONDS = 30.0  # a keeper that is silent for this long is considered lost
PROOF_SECONDS = 5.0  # for a new connection to prove that it knows the secret
MOST_STRANGERS = 64  # most connections that have not proven it yet

Notice = Callable[[Message], Message]  # the orders about steps, which a keeper answers


class PeerRefused(OSError):
    """The other keeper refused the request."""


class PeerConnection:
    """A connection to another keeper."""

    def __init__(self, address: str, secret: bytes, timeout_seconds: float = SILENCE_SECONDS) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_seconds)
        try:
            self._channel = Channel(self._socket, secret, caller=True, address=address)
        except OSError:
            self._socket.close()
            raise

    def __enter__(self) -> "PeerConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def put(
        self,
        copy: Copy,
        rate_limit: RateLimit,
        base: int = -1,
        parts: list[int] | None = None,
        bound: Message | None = None,
        bytes_per_second: float = 0.0,
    ) -> int:
        """Sends a copy, or its changed parts if the other side has step `base`; returns the bytes sent.

        When this returns, the other side has checked the hash of the whole copy. It has not overwritten steps in
        `bound`: the committed step, and those of this rank that count as safe.
        """
        order: Message = {"do": "put", "row": copy.row(), **(bound or {})}
        self._channel.send(order if parts is None else {**order, "base": base, "parts": parts})
        self._answer()
        places = [(0, copy.size)] if parts is None else checked_parts(parts, copy.size)
        with memoryview(copy.pages.map) as view:
            for start, end in places:
                for at in range(start, end, CHUNK):
                    part = view[at : min(at + CHUNK, end)]
                    rate_limit.wait(len(part), bytes_per_second)
                    self._channel.send_data(part)
        self._answer()
        return sum(end - start for start, end in places)

    def get(self, rank: int, step: int, store: ShardStore) -> Copy:
        """Fetches a copy into the shard store."""
        self._channel.send({"do": "get", "rank": rank, "step": step})
        return take(self._channel, self._answer()["row"], store)

    def notify(self, message: Message) -> Message:
        self._channel.send(message)
        return self._answer()

    def _answer(self) -> Message:
        answer = self._channel.receive()
        if "error" in answer:
            raise PeerRefused(str(answer["error"]))
        return answer


def take(
    source: Channel, row: object, store: ShardStore, base: Copy | None = None, parts: Sequence[object] = ()
) -> Copy:
    """Receives a copy, or the changes since `base`, and keeps it only if its hash is the announced one."""
    rank, step, attempt, world, size, digest = checked_row(row)
    pages = store.reserve(rank, size)
    try:
        if _receive(source, pages, size, base, parts) != digest:
            raise WireError(f"rank {rank} step {step} arrived damaged")
    except OSError:
        store.give_up(rank, pages)
        raise
    copy = Copy(rank, step, attempt, world, size, digest, pages)
    store.add(copy)
    return copy


def _receive(source: Channel, pages: Pages, size: int, base: Copy | None, parts: Sequence[object]) -> str:
    """Receives data and returns the hash of the pages. For a whole copy, each frame is hashed while it is in the
    cache."""
    with memoryview(pages.map) as view:
        if base is None:
            whole = xxhash.xxh3_128()
            source.receive_data(view[:size], whole.update)
            return whole.hexdigest()
        pages.copy_from(base.pages, size)
        for start, end in checked_parts(parts, size):
            source.receive_data(view[start:end])
    return pages.digest(size)


def checked_row(row: object) -> tuple[int, int, str, int, int, str]:
    """A copy's description from another process. Raises WireError."""
    match row:
        case [int(rank), int(step), str(attempt), int(world), int(size), str(digest)]:
            if 0 <= rank < world and step >= 0 and size > 0:
                return rank, step, attempt, world, size, digest
    raise WireError("not a description of a copy")


class Answerer:
    """Listens for other keepers; one thread per connection."""

    def __init__(self, host: str, port: int, secret: bytes, store: ShardStore, notice: Notice) -> None:
        self._secret, self._store, self._notice = secret, store, notice
        self._listener = socket.create_server((host, port))
        self.address = f"{host}:{self._listener.getsockname()[1]}"
        self._strangers = threading.BoundedSemaphore(MOST_STRANGERS)
        threading.Thread(target=accept_for_ever, args=(self._listener, self._serve), name="peers", daemon=True).start()

    def close(self) -> None:
        close_listener(self._listener)

    def _serve(self, peer: socket.socket, where: tuple[str, int]) -> None:
        with peer:
            if not self._strangers.acquire(blocking=False):
                return  # too many unauthenticated connections; more would use the descriptors of the others
            try:
                peer.settimeout(PROOF_SECONDS)
                channel = Channel(peer, self._secret, caller=False, address=self.address)
            except NotTrusted as error:
                LOG.warning("connection from %s:%d refused: %s", *where[:2], error)
                return
            except OSError:
                return
            finally:
                self._strangers.release()
            self._talk(channel, where)

    def _talk(self, channel: Channel, where: tuple[str, int]) -> None:
        channel.settimeout(SILENCE_SECONDS)
        behind_training()
        try:
            while True:
                self._obey(channel, channel.receive())
        except NotTrusted as error:
            LOG.warning("connection from %s:%d refused: %s", *where[:2], error)
        except OSError:
            return  # it closed the connection or timed out; the unfinished copy was not kept

    def _obey(self, peer: Channel, order: Message) -> None:
        try:
            self._catch_up(order)
            match order:
                case {"do": "put", "row": row, "base": int(step), "parts": list(parts)}:
                    self._accept_parts(peer, row, step, parts)
                case {"do": "put", "row": row}:
                    self._accept_copy(peer, row)
                case {"do": "get", "rank": int(rank), "step": int(step)}:
                    self._hand_out(peer, rank, step)
                case {"do": "safe" | "withdraw" | "committed" | "moved" | "ready"}:
                    peer.send(self._notice(order))
                case _:
                    raise WireError(f"not an order: {str(order.get('do'))[:40]}")
        except Full as error:
            peer.send({"error": str(error)})

    def _catch_up(self, order: Message) -> None:
        """Applies the sender's committed step, whose notice may not have arrived here yet.

        A step that it calls safe may be committed before the notice arrives.
        """
        match order:
            case {"do": "put", "row": [int(rank), int(step), *_], "committed": int(committed), "safe": list(safe)}:
                if 0 <= committed < step:
                    self._store.commit(committed)
                self._store.protect_only(rank, [one for one in safe if isinstance(one, int)])

    def _accept_parts(self, peer: Channel, row: object, step: int, parts: Sequence[object]) -> None:
        rank, _, attempt, _, size, _ = checked_row(row)
        with self._store.reading(rank, step) as base:
            if base is None or base.attempt != attempt or base.size != size:
                peer.send({"error": f"step {step} of rank {rank} is not here to build on"})
                return
            self._accept_copy(peer, row, base, parts)

    def _accept_copy(self, peer: Channel, row: object, base: Copy | None = None, parts: Sequence[object] = ()) -> None:
        rank, _, _, _, size, _ = checked_row(row)
        self._store.give_up(rank, self._store.reserve(rank, size))  # checks for room before a byte is sent
        try:
            checked_parts(parts, size)
        except ValueError as error:
            raise WireError(str(error)) from error
        peer.send({})
        try:
            take(peer, row, self._store, base, parts)
        except WireError as error:
            peer.send({"error": str(error)})
            raise
        peer.send({})

    def _hand_out(self, peer: Channel, rank: int, step: int) -> None:
        with self._store.reading(rank, step) as copy:
            if copy is None:
                peer.send({"error": f"step {step} of rank {rank} is not here"})
                return
            peer.send({"row": copy.row()})
            with memoryview(copy.pages.map) as view:
                for at in range(0, copy.size, CHUNK):
                    peer.send_data(view[at : min(at + CHUNK, copy.size)])
