"""A TCP proxy in a thread that loses, delays and cuts what passes through it: packet loss as a connection sees it."""

import asyncio
import random
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

RETRANSMISSION_SECONDS = (0.2, 3.0)


class Proxy:
    """`mode` is "" (all passes), "loss" (late, sometimes reset) or "cut" (no connection lives)."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self.mode, self.url = "", ""
        self._loop, self._ready = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._chance = random.Random(self._port)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            if self.mode != "cut":
                theirs, ours = await asyncio.open_connection(self._host, self._port)
                await asyncio.gather(self._pass(reader, ours), self._pass(theirs, writer))
        writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if self.mode == "loss" and self._chance.random() < 0.3:
                    await asyncio.sleep(self._chance.uniform(*RETRANSMISSION_SECONDS))
                if self.mode == "cut" or (self.mode == "loss" and self._chance.random() < 0.05):
                    break
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
