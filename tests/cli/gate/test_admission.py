"""With `--ask` the controller decides: closed is refused, no answer falls back to the mark of the last full test."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from holdfast.cli.gate import admission
from tests.cli.gate.test_gate import run, verdict


class StandIn:
    """A controller as far as the gate asks it."""

    def __init__(self) -> None:
        self.status, self.body, self.location = 200, b'{"node": "n1", "allowed": true}', ""
        self.asked: list[tuple[str, str]] = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stand_in.asked.append((self.path, self.headers["Authorization"]))
                self.send_response(stand_in.status)
                if stand_in.location:
                    self.send_header("Location", stand_in.location)
                self.end_headers()
                self.wfile.write(stand_in.body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def says(self, allowed: object, reason: str = "") -> None:
        self.body = json.dumps({"node": "n1", "allowed": allowed, "reason": reason}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def controller() -> Iterator[StandIn]:
    one = StandIn()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def outside_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SLURM")]:
        monkeypatch.delenv(name)


def config(tmp_path: Path, url: str) -> str:
    (tmp_path / "credential").write_text("secret-of-n1\n")
    file = tmp_path / "holdfast.toml"
    file.write_text(f'[agent]\nstate_dir = "{tmp_path}"\n[controller]\nurl = "{url}"\n')
    return str(file)


def ask(tmp_path: Path, url: str, health: str = "pass", *more: str) -> tuple[int, str, str]:
    file = tmp_path / "verdict.json"
    file.write_text(json.dumps(verdict(health)))
    done = run("--file", str(file), "--ask", config(tmp_path, url), *more)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_a_node_that_the_controller_has_closed_starts_nothing_however_well_it_is(
    tmp_path: Path, controller: StandIn
) -> None:
    (tmp_path / "verdict.tested").touch()
    controller.says(False, "quarantined: gpu.xid:\n Xid 79")
    assert ask(tmp_path, controller.url)[:2] == (2, "fail: controller: quarantined: gpu.xid: Xid 79")
    assert controller.asked == [("/v1/admission", "Bearer secret-of-n1")]
    assert ask(tmp_path, controller.url, "unknown", "--on-unknown", "allow")[0] == 2, "an unknown verdict opens nothing"


def test_an_open_node_starts_work_by_its_verdict_and_a_stale_mark_does_not_count(
    tmp_path: Path, controller: StandIn
) -> None:
    (tmp_path / "verdict.closed").write_text("testing: not yet")  # the controller's answer is newer
    assert ask(tmp_path, controller.url)[:2] == (0, "pass")
    assert ask(tmp_path, controller.url, "fail")[0] == 2
    assert ask(tmp_path, controller.url, "pass", "--tested")[0] == 2, "used since its last test"
    (tmp_path / "verdict.tested").touch()
    assert ask(tmp_path, controller.url, "pass", "--tested")[0] == 0


def test_without_an_answer_only_a_tested_node_starts_work(tmp_path: Path, controller: StandIn) -> None:
    controller.status = 503
    code, message, note = ask(tmp_path, controller.url)
    assert code == 2
    assert "untested" in message
    assert "status 503; the mark of the last full test decides" in note
    (tmp_path / "verdict.tested").touch()
    assert ask(tmp_path, controller.url)[0] == 0
    (tmp_path / "verdict.closed").write_text("quarantined: gpu.xid")
    assert ask(tmp_path, controller.url)[:2] == (2, "fail: controller: quarantined: gpu.xid"), "its last word holds"


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff\xfe", b'{"allowed": "yes"}', b'{"allowed": 1}'])
def test_nonsense_never_opens_a_node(tmp_path: Path, controller: StandIn, body: bytes) -> None:
    controller.body = body
    assert ask(tmp_path, controller.url)[0] == 2


def test_a_controller_that_hangs_is_waited_for_so_long_and_no_longer(tmp_path: Path) -> None:
    """It accepts the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(admission.AdmissionUnanswered, match=r"no answer within 0\.2 s|timed out"):
            admission.closed(config(tmp_path, address), seconds=0.2)


def test_a_standby_names_the_leader_and_a_wrong_setting_is_no_answer(tmp_path: Path, controller: StandIn) -> None:
    leader = StandIn()
    try:
        leader.says(False, "held")
        controller.status, controller.location = 307, f"{leader.url}/v1/admission"
        assert admission.closed(config(tmp_path, controller.url)) == "held"
    finally:
        leader.close()
    for url in ("", "nonsense", "http://127.0.0.1:1"):
        with pytest.raises(admission.AdmissionUnanswered):
            admission.closed(config(tmp_path, url))
    with pytest.raises(admission.AdmissionUnanswered, match="cannot be queried"):
        admission.closed(str(tmp_path / "missing.toml"))


@pytest.mark.parametrize("first", ["busy", "gone", "redirects to no address"])
def test_the_next_controller_is_asked_where_the_first_gives_no_answer(
    tmp_path: Path, controller: StandIn, first: str
) -> None:
    controller.status, controller.location = (503, "") if first == "busy" else (307, "http://[")
    other = StandIn()
    try:
        other.says(False, "quarantined")
        file = Path(config(tmp_path, controller.url if first != "gone" else "http://127.0.0.1:1"))
        named = file.read_text()
        file.write_text(f'{named}standby_urls = ["{other.url}"]\n')
        assert admission.closed(str(file)) == "quarantined"
        file.write_text(f'{named}standby_urls = "{other.url}"\n')
        with pytest.raises(admission.AdmissionUnanswered):
            admission.closed(str(file))
    finally:
        other.close()
