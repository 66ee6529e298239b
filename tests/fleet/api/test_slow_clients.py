"""Slow clients: they are cut off, and they do not take the descriptors that others need."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from holdfast.fleet.api import connections
from holdfast.fleet.api.connections import Connections, limited


async def application(scope: Any, receive: Any, send: Any) -> None:
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Quiet(uvicorn.Server):
    def install_signal_handlers(self) -> None: ...


LARGE = 16 << 20


async def large_answers(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", str(LARGE).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


async def streams(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(64):
        await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})


async def served(
    limits: Connections, use: Callable[[int], Awaitable[None]], application: Any = application, **more: Any
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        **more,
        http=limited(limits),
        log_config=None,
        lifespan="off",
        access_log=False,
        timeout_keep_alive=1,
    )
    server = Quiet(config)
    task = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0)
    try:
        await use(listener.getsockname()[1])
    finally:
        server.should_exit = server.force_exit = True
        await task


async def ended(port: int, sent: bytes) -> bytes:
    """What the server answered to a request that never ends, until it closed the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    found = b""
    with suppress(ConnectionError):
        found = await reader.read()
    writer.close()
    return found


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n", id="half a header"),
    pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", id="half a body"),
    pytest.param(GET + b"GET / HT", id="half a second request"),
]


@pytest.mark.parametrize("sent", SLOW)
def test_a_request_that_does_not_arrive_is_cut_off(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.05)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.05)
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        answer = await ended(port, sent)
        assert (b"200" in answer) == sent.startswith(GET)
        while limits.count:
            await asyncio.sleep(0)

    asyncio.run(served(limits, use))


def test_one_address_leaves_connections_for_the_others() -> None:
    limits = Connections(per_address=5, total=8)

    async def use(port: int) -> None:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        while limits.refused < 15:
            await asyncio.sleep(0)
        assert limits.count == 5
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        writer.write(GET)
        assert b"200" in await reader.readuntil(b"ok")
        for _, one in [*held, (reader, writer)]:
            one.close()
        while limits.count:
            await asyncio.sleep(0)
        assert not limits.open

    asyncio.run(served(limits, use))


def test_greedy_clients_leave_the_last_connections_to_those_that_have_few() -> None:
    """Two addresses with half of all each once took every connection."""
    limits = Connections(total=640)
    for greedy in ("192.0.2.1", "192.0.2.2"):
        while limits.take(greedy):
            pass
    assert (limits.few, limits.reserve, limits.count) == (10, 80, 640 - 80)
    taken = [sum(limits.take("192.0.2.9") for _ in range(30)), sum(limits.take("192.0.2.8") for _ in range(30))]
    assert taken == [10, 10]
    limits.release("192.0.2.9")
    assert limits.take("192.0.2.9")


def test_one_address_may_have_all_where_the_site_says_so() -> None:
    limits = Connections(per_address=64, total=64)
    assert sum(limits.take("192.0.2.1") for _ in range(100)) == 64


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("2001:db8:1:2:3::4", 5, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff:ffff:ffff:ffff", 6, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:3::1", 5, 0, 0), "2001:db8:1:3::/64"),
        (("::ffff:192.0.2.1", 5, 0, 0), "192.0.2.1"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"),
        ("", "local"),
        (None, "local"),
    ],
)
def test_a_network_of_ipv6_is_one_client(peer: object, client: str) -> None:
    assert connections.client_of(peer) == client


def test_limits_follow_what_the_process_may_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (20_512, 20_512))
    assert (Connections().total, Connections().per_address) == (20_000, 10_000)
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: (256, 256))
    assert (Connections().total, Connections().per_address) == (64, 32)


LONG = b"a" * (connections.LARGEST_HEAD + 1)
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = [
    pytest.param(b"GET /" + LONG, id="address"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + LONG, id="one header"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: a\r\n" * 10_000, id="many headers"),
    pytest.param(CHUNKED + b"1;" + LONG, id="chunk extension"),
    pytest.param(CHUNKED + b"0\r\nX-A: " + LONG, id="trailer"),
    pytest.param(GET + b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + LONG * 8, id="second request"),
]


@pytest.mark.parametrize("sent", ENDLESS)
def test_headers_without_end_are_cut_off_by_their_length(sent: bytes) -> None:
    """No time is left to wait for here: the limits of time are those of the product."""
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        await ended(port, sent)
        while limits.count:
            await asyncio.sleep(0)

    async def in_time() -> None:
        async with asyncio.timeout(connections.HEADER_SECONDS / 2):
            await served(limits, use)

    asyncio.run(in_time())


CHUNK = b"2000\r\n" + b"b" * 8192 + b"\r\n"


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 1000000\r\n\r\n" + b"b" * 1_000_000,
        b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK * 120 + b"0\r\n\r\n",
    ],
)
def test_a_long_body_is_no_long_header(framing: bytes) -> None:
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        answer = await ended(port, b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + framing)
        assert b"200" in answer

    asyncio.run(served(limits, use))


CLOSING = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@pytest.mark.parametrize("answers", [large_answers, streams])
@pytest.mark.parametrize("sent", [GET, CLOSING])
def test_an_answer_that_is_not_read_is_cut_off(answers: Any, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.05)
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as silent:
            silent.sendall(sent)
            while not limits.count:
                await asyncio.sleep(0)
            while limits.count:
                await asyncio.sleep(0)

    asyncio.run(served(limits, use, answers))


def test_who_reads_gets_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time the server looks, more of it has been read."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.0)
    monkeypatch.setattr(connections, "LEAST_READ", 0)
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        assert len(await ended(port, CLOSING)) > LARGE

    asyncio.run(served(limits, use, large_answers))


def make_certificate(folder: Path) -> tuple[str, str]:
    key, name = generate_private_key(SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    first, last = datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, first, last).sign(key, SHA256())
    files = str(folder / "tls.pem"), str(folder / "tls.key")
    Path(files[0]).write_bytes(made.public_bytes(Encoding.PEM))
    Path(files[1]).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def test_a_tls_handshake_has_as_long_as_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.05)
    certificate, key = make_certificate(tmp_path)
    limits = Connections(8, 8)

    async def use(port: int) -> None:
        assert await ended(port, b"") == b""
        assert await ended(port, b"\x16\x03\x01\x02") == b""

    with asyncio.Runner(loop_factory=connections.HandshakeLoop) as runner:
        runner.run(served(limits, use, ssl_certfile=certificate, ssl_keyfile=key))


def test_handshakes_begin_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two clients that say nothing keep a third waiting in the backlog, but not until they time out."""
    context, trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(*make_certificate(tmp_path))
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    begun: list[int] = []

    class Counted(connections.PacedServer):
        async def _shake_hands(self, connection: socket.socket) -> None:
            begun.append(len(begun))
            await super()._shake_hands(connection)

    async def run() -> int:
        loop = asyncio.get_running_loop()
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        server = Counted(loop, listener, asyncio.Protocol, context, most=2)
        silent = [socket.create_connection(listener.getsockname()) for _ in range(2)]
        third = loop.create_task(loop.create_connection(asyncio.Protocol, *listener.getsockname(), ssl=trusting))
        while len(begun) < 2:
            await asyncio.sleep(0)
        before = len(begun)
        transport, _ = await third  # as soon as the silent ones have lost their places
        transport.close()
        for one in silent:
            one.close()
        server.close()
        await server.wait_closed()
        return before

    monkeypatch.setattr(connections, "PLACE_SECONDS", 0.02)
    with asyncio.Runner(loop_factory=connections.HandshakeLoop) as runner:
        assert runner.run(run()) == 2
    assert len(begun) == 3
