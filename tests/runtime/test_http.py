"""TLS is verified unless somebody says otherwise."""

import http.server
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator

import pytest

from holdfast.client.client import trusted
from holdfast.runtime import http as our_http
from holdfast.runtime.errors import NoAnswer


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here to make a certificate with")
    root = tmp_path_factory.mktemp("tls")
    key, certificate = str(root / "key.pem"), str(root / "cert.pem")
    make = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run([openssl, *make, *names], check=True, capture_output=True)
    server = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://localhost:{server.server_port}/", certificate
    server.shutdown()
    thread.join()
    server.server_close()


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests speak for themselves."""


def test_an_unknown_certificate_is_refused_and_not_tried_again(https: tuple[str, str]) -> None:
    with pytest.raises(NoAnswer, match="certificate") as caught:
        our_http.send("GET", https[0], {}, None, 5.0, our_http.tls("", verify=True))
    assert not caught.value.retryable


def test_a_certificate_of_ones_own_is_trusted_where_it_is_named(https: tuple[str, str]) -> None:
    assert our_http.send("GET", https[0], {}, None, 5.0, our_http.tls(https[1], verify=True)).status == 204


def test_a_certificate_for_another_name_is_refused(https: tuple[str, str]) -> None:
    with pytest.raises(NoAnswer, match=r"127\.0\.0\.1"):
        url = https[0].replace("localhost", "127.0.0.1")
        our_http.send("GET", url, {}, None, 5.0, our_http.tls(https[1], verify=True))


def test_certificates_are_read_for_tls_alone_and_checked_there(
    https: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", https[1])
    assert our_http.tls_for("http://127.0.0.1/x", "/no/such/file") is None
    context = our_http.tls_for("https://127.0.0.1/x")
    assert context is not None and context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED
    unchecked = our_http.tls_for("https://127.0.0.1/x", verify=False)
    assert unchecked is not None and unchecked.verify_mode is ssl.CERT_NONE
    plain = trusted("http://127.0.0.1/x")  # where it is sent on to TLS, nobody is trusted
    assert plain.check_hostname and plain.verify_mode is ssl.CERT_REQUIRED and plain.get_ca_certs() == []
    assert len(trusted("https://127.0.0.1/x").get_ca_certs()) == 1


def test_verification_can_be_switched_off(https: tuple[str, str]) -> None:
    assert our_http.send("GET", https[0], {}, None, 5.0, our_http.tls("", verify=False)).status == 204


ENDLESS = {
    "a body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 40,
    "headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20,
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
}


@pytest.mark.parametrize("sent", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_answer_a_byte_at_a_time_has_an_end(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout of a socket begins anew with each byte: a rogue device held its reader for ever."""
    moments = iter(range(10_000))
    real = our_http._Timed.readinto

    def one_byte(timed: our_http._Timed, buffer: memoryview) -> int | None:
        return real(timed, memoryview(buffer)[:1])

    monkeypatch.setattr(our_http._Timed, "readinto", one_byte)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: _serve_once(server, sent), daemon=True).start()
        monkeypatch.setattr(our_http.time, "monotonic", lambda: float(next(moments)))
        with pytest.raises(NoAnswer, match="no answer within 9 s"):
            our_http.send("GET", f"http://127.0.0.1:{server.getsockname()[1]}/", {}, None, 9.0)


def _serve_once(server: socket.socket, sent: bytes) -> None:
    connection, _ = server.accept()
    connection.recv(1000)
    connection.sendall(sent)
    threading.Event().wait(20)
    connection.close()


MALFORMED = {
    "negative chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
    "no chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    "status": b"HTTP/1.1 99999 OK\r\n\r\n",
    "nothing": b"",
    "bytes": b"\x00\x01\r\n\r\n",
}


def _post(sent: bytes) -> our_http.Reply:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(sent)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            return our_http.send("POST", f"http://127.0.0.1:{server.getsockname()[1]}/", {}, b"reboot", 10.0)
        finally:
            thread.join()


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_request_with_a_malformed_answer_may_have_run(sent: bytes) -> None:
    with pytest.raises(NoAnswer) as caught:
        _post(sent)
    assert (caught.value.not_begun, caught.value.retryable) == (False, True)


@pytest.mark.parametrize("place", ["http://[", "http://a:b/", "file:///etc/passwd", "http://\xff", ""])
def test_a_redirect_is_a_reply_wherever_it_points(place: str) -> None:
    """`http://[` raised ValueError, as a bad address does, and the action was sent again."""
    reply = _post(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode("latin-1"))
    assert (reply.status, reply.not_begun) == (302, False)


@pytest.mark.parametrize(
    "url", ["http://[", "http://a b/", "http://\ud800/", "http://..x/", "foo", "file:///etc/passwd"]
)
def test_nothing_is_sent_to_an_address_that_is_none(url: str) -> None:
    with pytest.raises(NoAnswer, match="not a usable address") as caught:
        our_http.send("POST", url, {}, b"reboot", 10.0)
    assert (caught.value.not_begun, caught.value.retryable) == (True, False)


def test_where_nobody_listens_nothing_began() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(NoAnswer, match="cannot be reached") as caught:
            our_http.send("POST", f"http://127.0.0.1:{bound.getsockname()[1]}/", {}, b"reboot", 10.0)
    assert (caught.value.not_begun, caught.value.retryable) == (True, True)


@pytest.mark.parametrize("text", ["поезд-日本語", "a\r\nX-Injected: 1", "\x00\x7f", "\ud800"])
def test_any_text_is_sent_as_one_header(text: str) -> None:
    """Whoever calls it: names of jobs and nodes reach the headers of alerts and notifications."""
    taken: list[str] = []

    class Noting(Quiet):
        def do_GET(self) -> None:
            taken.extend([self.headers["X-Name"], self.headers.get("X-Injected", "")])
            super().do_GET()

    with http.server.HTTPServer(("127.0.0.1", 0), Noting) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        reply = our_http.send("GET", f"http://127.0.0.1:{server.server_port}/", {"X-Name": text}, None, 10.0)
        thread.join()
    assert (reply.status, taken) == (204, [our_http.header(text), ""])
