"""HTTP connection limits: short headers, timeouts of requests and answers, a cap per client.

uvicorn waits forever for a request that has begun, and for a client that does not read its answer. So a slow client
could hold every descriptor of the controller. uvicorn also accepts headers of any length before authentication, so one
client could take all memory.
"""

import asyncio
import resource
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
UNREAD_SECONDS = 30.0
LEAST_READ = 32 << 10  # bytes of an answer that a client must read in that time
LARGEST_HEAD = 64 << 10  # bytes of request line, headers, chunk sizes and trailers of one request
MOST_HANDSHAKES = 256  # at once; each takes about a millisecond of CPU
PLACE_SECONDS = 2.0  # a handshake that does not end occupies a place for this time
NO_DESCRIPTOR_SECONDS = 0.1
SHARES = 64  # a client with less than this part of all connections has few
RESERVED = 512  # descriptors for the store, the log, back ends and devices


class Connections:
    """Open connections by client. Used only on the event loop."""

    def __init__(self, per_address: int = 0, total: int = 0) -> None:
        """Limits of 0 follow from the limit of open files: all but a reserve, and half of that for one client."""
        self.total = total or max(64, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED)
        self.per_address = per_address or max(32, self.total // 2)
        self.few = max(1, self.total // SHARES)
        self.reserve = min(self.total // 8, self.total - self.per_address)
        self.open: Counter[str] = Counter()
        self.count = 0
        self.refused = 0

    def take(self, address: str) -> bool:
        """Takes a connection if the limits allow it. The last ones are for clients with few connections."""
        own = self.open[address]
        free = self.total - self.count
        if free <= 0 or own >= self.per_address or (own >= self.few and free <= self.reserve):
            self.refused += 1
            return False
        self.open[address] += 1
        self.count += 1
        return True

    def release(self, address: str) -> None:
        self.count -= 1
        self.open[address] -= 1
        if not self.open[address]:
            del self.open[address]


def client_of(peer: object) -> str:
    """The client of an address: an IPv4 address, or the /64 of an IPv6 address, because one machine owns all of it."""
    if not isinstance(peer, tuple):
        return "local"
    address = ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


class LimitedProtocol(HttpToolsProtocol):
    limits = Connections()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._address = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0  # bytes of the current request before its body
        self._reading: asyncio.TimerHandle | None = None  # runs while a part of an answer waits for the client

    def connection_made(self, transport: Any) -> None:
        address = client_of(transport.get_extra_info("peername"))
        super().connection_made(transport)
        if not self.limits.take(address):
            transport.abort()
            return
        self._address = address
        self._expect(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._address:
            self.limits.release(self._address)
            self._address = ""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._expect(HEADER_SECONDS)  # another request on the same connection
        self._head += len(data)
        super().data_received(data)
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        self._head = max(0, self._head - len(body))
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._expect(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        self._arrived()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Starts a timeout while an answer waits to be read, also on a closing connection."""
        unread = self.transport.get_write_buffer_size()
        if self._reading is None and unread:
            self._reading = self.loop.call_later(UNREAD_SECONDS, self._look_again, unread)

    def _look_again(self, before: int) -> None:
        self._reading = None
        if self.transport.get_write_buffer_size() > max(0, before - LEAST_READ):
            self.transport.abort()
        else:
            self._watch_reader()

    def _expect(self, seconds: float) -> None:
        self._arrived()
        self._deadline = self.loop.call_later(seconds, self._too_late)

    def _arrived(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.abort()


def limited(connections: Connections) -> type[LimitedProtocol]:
    """The protocol class of one server, with limits."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": connections})


class HandshakeLoop(uvloop.Loop):
    """Limits concurrent TLS handshakes. An unfinished handshake holds a descriptor before any protocol sees it."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        context, listener = named.get("ssl"), named.get("sock")
        if context is None or listener is None:
            return await super().create_server(*arguments, **named)
        listener.setblocking(False)
        return PacedServer(self, listener, arguments[0], context)


class PacedServer:
    """Limits the number of concurrent handshakes; other clients wait in the backlog of the listening socket.

    Without it, the handshakes of a fleet that lost its leader would all time out on a busy machine, and every agent
    would connect again: no connection would ever succeed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        most: int = MOST_HANDSHAKES,
    ) -> None:
        self._loop, self._listener, self._protocol, self._context = loop, listener, protocol, context
        self._room = asyncio.Semaphore(most)
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting = loop.create_task(self._accept())
        self.sockets = (listener,)

    async def _accept(self) -> None:
        """Accepts connections. Each is handled in its own task, so that no client can end this loop."""
        while True:
            await self._room.acquire()
            try:
                connection, _ = await self._loop.sock_accept(self._listener)
            except OSError:  # no descriptor is free
                self._room.release()
                await asyncio.sleep(NO_DESCRIPTOR_SECONDS)
                continue
            task = self._loop.create_task(self._shake_hands(connection))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)
            self._loop.create_task(self._leave_room(task))

    async def _leave_room(self, handshake: "asyncio.Task[None]") -> None:
        """Frees the place of a handshake that stopped in the middle after a moment, not after its timeout."""
        await asyncio.wait([handshake], timeout=PLACE_SECONDS)
        self._room.release()

    async def _shake_hands(self, connection: socket.socket) -> None:
        with suppress(OSError, TimeoutError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._protocol, connection, ssl=self._context, ssl_handshake_timeout=HEADER_SECONDS
            )

    def close(self) -> None:
        self._accepting.cancel()
        for handshake in self._handshakes:
            handshake.cancel()
        self._listener.close()

    async def wait_closed(self) -> None:
        await asyncio.gather(self._accepting, *self._handshakes, return_exceptions=True)
