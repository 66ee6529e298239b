"""The agent's loopback HTTP server: /metrics for Prometheus, /v1 as JSON. Read-only."""

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.metrics import families
from holdfast.node.agent.node import CheckChange, Node

log = logging.getLogger("holdfast.node.agent")


MOST_CONNECTIONS = 16
READ_SECONDS = 5.0
REQUEST_SECONDS = 10.0  # for a whole request and its answer


class Served(Protocol):
    """The agent's data that the HTTP server reads."""

    node: Node
    guard: threading.Lock
    clock: AgentClock

    @property
    def kept_changes(self) -> list[CheckChange]: ...
    def document(self) -> dict[str, Any]: ...


class _Metrics(Collector):
    def __init__(self, agent: Served) -> None:
        self._agent = agent

    def collect(self) -> Iterator[Any]:
        with self._agent.guard:
            return iter(families(self._agent.node, self._agent.clock.now()))


class _FewThreads(ThreadingHTTPServer):
    """Scrapes are rare. Refuse a crowd of connections, because each would need a thread."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Close the connection after a deadline. A client that sends one byte at a time would hold its thread
        forever."""
        end = threading.Timer(REQUEST_SECONDS, _end, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._places.release()


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # the server has ended already
        connection.shutdown(socket.SHUT_RDWR)


def _routes(agent: Served) -> dict[str, Callable[[], Any]]:
    return {
        "/v1/verdicts": agent.document,
        "/v1/changes": lambda: {"changes": [asdict(change) for change in agent.kept_changes]},
        "/v1/signals": lambda: {
            "signals": [
                {"subject": subject, "name": name, "value": value, "at": at}
                for subject, name, value, at in agent.node.history.latest(agent.clock.now())
            ]
        },
        "/v1/inventory": lambda: {
            "node": agent.node.census.node,
            "subjects": sorted(agent.node.history.inventory.subjects),
            "lacks": dict(agent.node.history.inventory.lacks),
            "blind": agent.node.history.blind_sources(),
        },
    }


def serve(agent: Served, listen: str) -> ThreadingHTTPServer | None:
    """Listen in a thread. If the port is in use, log it and continue: verdicts do not need the server."""
    host, _, port = listen.rpartition(":")
    registry = CollectorRegistry()
    registry.register(_Metrics(agent))
    routes = _routes(agent)

    class Handler(BaseHTTPRequestHandler):
        timeout = READ_SECONDS  # a silent client must not occupy a thread

        def do_GET(self) -> None:
            path = self.path.split("?", 1)[0]
            if path == "/metrics":
                self._answer(200, generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8")
            elif route := routes.get(path):
                with agent.guard:
                    body = msgspec.json.encode(route())
                self._answer(200, body, "application/json")
            else:
                expected = ", ".join(["/metrics", *routes])
                body = msgspec.json.encode({"error": f"no page {path[:200]!r}; expected one of {expected}"})
                self._answer(404, body, "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            log.debug(format, *args)

    try:
        server = _FewThreads((host or "127.0.0.1", int(port)), Handler)
    except (OSError, ValueError, OverflowError) as error:
        log.error("cannot listen on %s: %s; going on without /metrics", listen, error)
        return None
    if not str(server.server_address[0]).startswith("127."):
        log.warning("%s is not a loopback address: anyone who reaches it can read this node's state", listen)
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    log.info("listening on http://%s:%d", *server.server_address[:2])
    return server
