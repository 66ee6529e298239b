"""The page against a real controller: what an agent reports is seen, and what it means is told."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

pytestmark = pytest.mark.slow
CONFIG = """\
listen = "127.0.0.1:0"
store = "sqlite:///{root}/holdfast.db"
admin_token_file = "{root}/token"
console = "{static}"
"""


@dataclass
class Controller:
    address: str
    token: str

    def post(self, path: str, body: object, token: str = "") -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.token}"}
        with closing(urlopen(Request(self.address + path, json.dumps(body).encode(), headers), timeout=10)) as answer:
            return json.load(answer)

    def enrol(self, node: str, rack: str) -> str:
        join = self.post("/v1/tokens", {})["token"]
        ask = {"node": node, "join_token": join, "pool": "train", "place": {"rack": rack}}
        return str(self.post("/v1/enrol", ask)["credential"])

    def report(self, node: str, credential: str, sequence: int, after: str, reason: str) -> None:
        now = time.time()
        change = {"at": now, "check": "gpu_xid", "before": "", "after": after, "reason": reason, "evidence": ["Xid 79"]}
        report = {"node": node, "session": "s", "seq": sequence, "at": now, "changes": [change], "heartbeat": True}
        self.post("/v1/reports", [report], credential)


@pytest.fixture
def controller(static: Path, tmp_path: Path) -> Iterator[Controller]:
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    config = tmp_path / "controller.toml"
    config.write_text(CONFIG.format(root=tmp_path, static=static))
    command = [sys.executable, "-m", "holdfast.controller", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield Controller(process.stdout.readline().strip(), (tmp_path / "token").read_text().strip())
        process.terminate()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    page = chromium.new_page()
    yield page
    page.close()


def test_an_agents_verdict_reaches_the_page_and_the_nodes_story(controller: Controller, page: Any) -> None:
    credentials = {f"n{number}": controller.enrol(f"n{number}", f"r{number // 2}") for number in range(4)}
    page.goto(f"{controller.address}/#token={controller.token}")
    page.get_by_role("toolbar").get_by_text("4 nodes").wait_for()
    controller.report("n2", credentials["n2"], 1, "fail", "GPU 3 fell off the bus")
    page.get_by_role("button", name="fail 1").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("health:fail")
    page.get_by_text("1 of 4 nodes").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Node n2")
    panel.get_by_role("region", name="Verdicts").get_by_text("GPU 3 fell off the bus").wait_for()
    panel.get_by_role("region", name="Story").get_by_text("evidence: Xid 79").first.wait_for()


def test_without_a_token_the_controllers_refusal_asks_for_one(controller: Controller, page: Any) -> None:
    page.goto(controller.address)
    page.get_by_label("Token").fill(controller.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("No node has enrolled yet").wait_for()
