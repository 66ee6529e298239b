"""The page against a real controller: what an agent reports is seen, and what it means is told."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from .real import Controller, controlling

pytestmark = pytest.mark.slow


@pytest.fixture
def controller(static: Path, tmp_path: Path) -> Iterator[Controller]:
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    with controlling(static, tmp_path) as one:
        yield one


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    page = chromium.new_page()
    yield page
    page.close()


def test_an_agents_verdict_reaches_the_page_and_the_nodes_history(controller: Controller, page: Any) -> None:
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
    panel.get_by_role("region", name="History").get_by_text("evidence: Xid 79").first.wait_for()


def test_without_a_token_the_controllers_refusal_asks_for_one(controller: Controller, page: Any) -> None:
    page.goto(controller.address)
    page.get_by_label("Token").fill(controller.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("No node has enrolled yet").wait_for()


def test_a_controller_without_the_page_says_so_as_text(tmp_path: Path) -> None:
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    with (
        controlling(tmp_path / "nothing", tmp_path) as controller,
        closing(urlopen(controller.address + "/")) as output,
    ):
        assert output.headers.get_content_type() == "text/plain"
        assert b"The console is not built here" in output.read()
