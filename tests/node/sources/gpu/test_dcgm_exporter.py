"""Scraping a dcgm-exporter over real HTTP on the loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from holdfast.node.sources.gpu.dcgm_exporter import DcgmExporterSource


class Exporter(BaseHTTPRequestHandler):
    code = 200
    body = b""

    def do_GET(self) -> None:
        self.send_response(self.code)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Exporter)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    Exporter.code, Exporter.body = 200, b""
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    thread.join()
    server.server_close()


def test_fields_become_signals_in_our_units_and_blanks_become_absence(url: str) -> None:
    Exporter.body = (
        b'DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-a"} 1980\n'
        b'DCGM_FI_DEV_MEMORY_TEMP{gpu="1"} 9223372036854775794\n'
        b'DCGM_FI_SOMETHING_NEW{gpu="1"} 4\n'
    )
    reading = DcgmExporterSource("n1", url).read(0)
    assert reading.signals == [("node/n1/gpu/1", "dcgm_clock_sm_hertz", 1980e6)]
    assert list(reading.absent) == [("node/n1/gpu/1", "dcgm_memory_temperature_celsius")]


def test_no_url_promises_nothing() -> None:
    reading = DcgmExporterSource("n1").read(0)
    assert (reading.blind, list(reading.signals)) == ("", [])


@pytest.mark.parametrize(("code", "body", "expected"), [(503, b"x", "answers 503"), (302, b"", "answers 302")])
def test_an_error_answer_is_blindness_and_a_redirect_is_not_followed(
    url: str, code: int, body: bytes, expected: str
) -> None:
    Exporter.code, Exporter.body = code, body
    assert expected in DcgmExporterSource("n1", url).read(0).blind


def test_an_answer_without_gpus_is_blindness(url: str) -> None:
    Exporter.body = b"up 1\n"
    assert "reports no GPU" in DcgmExporterSource("n1", url).read(0).blind


def test_an_endless_answer_is_cut(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.node.sources.gpu.dcgm_exporter._MOST_BYTES", 1 << 20)
    Exporter.body = b"#" * (2 << 20)
    assert "more than 1 MB" in DcgmExporterSource("n1", url).read(0).blind


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://", "http://127.0.0.1:1/metrics", "http://[", "http://a:b"]
)
def test_a_bad_or_dead_address_is_blindness(url: str) -> None:
    assert DcgmExporterSource("n1", url).read(0).blind.startswith("dcgm-exporter at ")
