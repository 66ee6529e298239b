"""HTTP connection limits: short headers, header and body timeouts, a cap per client.

uvicorn waits for ever for a request that has begun. A slow client could so hold every descriptor of the controller.
It also takes headers of any length, before any authentication: one client could take all memory.
"""

import asyncio
import resource
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
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
