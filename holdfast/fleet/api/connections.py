"""HTTP connection limits: short headers, timeouts of requests and answers, a cap per client.

uvicorn waits for ever for a request that has begun, and for a client that does not read its answer. A slow client could
so hold every descriptor of the controller. It also takes headers of any length, before any authentication: one client
could take all memory.
"""

import asyncio
import resource
from collections import Counter
from typing import Any

import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
UNREAD_SECONDS = 30.0
LEAST_READ = 32 << 10  # bytes of an answer that a client takes in that time
LARGEST_HEAD = 64 << 10  # bytes of request line, headers, chunk sizes and trailers of one request
RESERVED = 512  # descriptors for the store, the log, back ends and devices


class Connections:
    """Which are open, by address. Belongs to the event loop."""

    def __init__(self, per_address: int = 0, total: int = 0) -> None:
        """0 is derived from what this process may open: all but a reserve, and half of that for one address."""
        self.total = total or max(64, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED)
        self.per_address = per_address or max(32, self.total // 2)
        self.open: Counter[str] = Counter()
        self.count = 0
        self.refused = 0

    def take(self, address: str) -> bool:
        if self.count >= self.total or self.open[address] >= self.per_address:
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


class LimitedProtocol(HttpToolsProtocol):
    limits = Connections()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._address = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._head = 0  # bytes of the current request that are not its body
        self._reading: asyncio.TimerHandle | None = None  # while a part of an answer waits for the client

    def connection_made(self, transport: Any) -> None:
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else "local"
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
        """From when an answer waits until it is read. A connection that is closing waits for it too."""
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
    """The protocol of one server."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": connections})


class HandshakeLoop(uvloop.Loop):
    """A TLS handshake that does not end holds a descriptor too, and no protocol knows of it before it ends."""

    async def create_server(self, *arguments: Any, **named: Any) -> Any:
        if named.get("ssl"):
            named["ssl_handshake_timeout"] = HEADER_SECONDS
        return await super().create_server(*arguments, **named)
