"""A controller for tests: speaks the agents' HTTP contract on loopback and stores what it receives."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeController:
    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []  # every report of every acknowledged request, in order
        self.enrolled: list[dict[str, Any]] = []
        self.credentials: set[str] = set()
        self.orders: list[dict[str, Any]] = []
        self.flush_seconds = 0.0  # while the node is to be released
        self.refuse_with = 0  # a status for every report until set back to 0
        self.bad_seqs: set[int] = set()  # reports that are refused as malformed
        self.leader = ""  # the address of another that everybody is sent to
        self.requests = 0
        self.connections = 0
        self.changed = threading.Condition()
        self.url = ""

    @property
    def names(self) -> set[tuple[str, int]]:
        return {(report["session"], report["seq"]) for report in self.received}

    def answer(self, path: str, body: Any, credential: str) -> tuple[int, Any]:
        with self.changed:
            self.requests += 1
            self.changed.notify_all()
            if self.leader:
                return 307, {"error": "another controller leads"}
            if path == "/v1/enrol":
                return self._enrol(body)
            if credential not in self.credentials:
                return 401, {"error": "this credential is not known"}
            if self.refuse_with:
                return self.refuse_with, {"error": "not now"}
            if self.bad_seqs & {report["seq"] for report in body}:
                return 400, {"error": "report field seq: not to our liking"}
            self.received += body
            return 200, {"accepted": [True] * len(body), "orders": self.orders, "flush_seconds": self.flush_seconds}

    def _enrol(self, body: Any) -> tuple[int, Any]:
        if body["join_token"] != "let-me-in":
            return 401, {"error": "this join token is not known"}
        self.enrolled.append(body)
        credential = f"credential-{len(self.enrolled)}"
        self.credentials.add(credential)
        return 200, {"credential": credential}


@contextmanager
def service(port: int = 0) -> Iterator[FakeController]:
    it = FakeController()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            it.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            credential = (self.headers["Authorization"] or "").removeprefix("Bearer ")
            status, document = it.answer(self.path, body, credential)
            text = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            if it.leader:
                self.send_header("Location", it.leader + self.path)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    it.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield it
    finally:
        server.shutdown()
        server.server_close()
