"""A persistent HTTP/1.1 connection to the controller: requests and answers with a length only.

Thousands of agents run in one process; a general client would need several times the CPU time.
"""

import asyncio
import ssl
from urllib.parse import urlsplit

MOST_BYTES = 1 << 20
ANSWER_SECONDS = 30.0


class ControllerUnreachable(Exception):
    """The controller did not answer; the message says why."""


class Connection:
    def __init__(self, url: str, ca_file: str = "") -> None:
        self._parts = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=ca_file or None) if self._parts.scheme == "https" else None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, path: str, body: bytes, credential: str = "") -> tuple[int, bytes]:
        return await self.request("POST", path, body, credential)

    async def request(self, method: str, path: str, body: bytes, credential: str = "") -> tuple[int, bytes]:
        """Returns status and body. A connection that went stale while idle is reopened once."""
        kept = self._writer is not None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):  # wait_for of Python 3.11 can swallow a cancellation
                return await self._once(method, path, body, credential)
        except (OSError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError) as error:
            self.close()
            if not kept or isinstance(error, TimeoutError):
                raise ControllerUnreachable(f"{self._parts.netloc}: {error or type(error).__name__}") from None
        return await self.request(method, path, body, credential)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _once(self, method: str, path: str, body: bytes, credential: str) -> tuple[int, bytes]:
        if self._reader is None or self._writer is None:
            port = self._parts.port or (443 if self._tls else 80)
            self._reader, self._writer = await asyncio.open_connection(self._parts.hostname, port, ssl=self._tls)
        proof = f"Authorization: Bearer {credential}\r\n" if credential else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._parts.netloc}\r\n{proof}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode("latin-1") + body)
        await self._writer.drain()
        return await self._answer(self._reader)

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers["content-length"]) if "content-length" in headers else 0
        if not 0 <= length <= MOST_BYTES:
            raise ValueError(f"an answer of {length} bytes")
        body = await reader.readexactly(length)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return status, body
