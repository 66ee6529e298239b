"""A small HTTP server on loopback that answers as a test tells it to and remembers what it was sent."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.runtime.conftest import TimeIsUp as TimeIsUp
from tests.runtime.conftest import time_is_up as time_is_up


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Peer:
    url: str
    answer: Callable[[Request], Answer | None] = lambda request: (204, {}, b"")
    seen: list[Request] = field(default_factory=list)


@pytest.fixture
def peer() -> Iterator[Peer]:
    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self.rfile.read(length))
            one.seen.append(request)
            answer = one.answer(request)
            if answer is None:  # the connection ends without a word
                self.close_connection = True
                return
            status, result, body = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **result}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Tests speak for themselves."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    one = Peer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield one
    server.shutdown()
    thread.join()
    server.server_close()
