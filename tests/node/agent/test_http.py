"""The agent's page among clients that any user of the node may be."""

import socket
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from holdfast.node.agent import http
from tests.waiting import until


def test_clients_that_send_a_byte_at_a_time_do_not_keep_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_SECONDS", 0.5)
    agent = SimpleNamespace(guard=threading.Lock(), document=lambda: {"health": "pass"}, kept_changes=[])
    server = http.serve(cast(Any, agent), "127.0.0.1:0")
    assert server is not None
    address = server.server_address[:2]
    held = [socket.create_connection(cast(Any, address)) for _ in range(http.MOST_CONNECTIONS)]
    over = threading.Event()

    def trickle() -> None:
        while not over.wait(0.05):
            for one in held:
                with suppress(OSError):
                    one.sendall(b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    url = f"http://127.0.0.1:{address[1]}/v1/verdicts"

    def answered() -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(url, trust_env=False).json() == {"health": "pass"}
        return False

    try:
        until(answered, "a scrape is answered while sixteen clients trickle")
    finally:
        over.set()
        thread.join()
        for one in held:
            one.close()
        server.shutdown()
        server.server_close()
