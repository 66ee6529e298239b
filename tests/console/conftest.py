"""The built page in a real browser, against a mock of the API that each test changes as it likes."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .mock_api import MockFleet, serving

CHECKED_SIZE = 100
"""Nodes of the largest fleet whose every answer is compared with the API's document."""
ROOT = Path(__file__).parents[2]
BROWSER_ARGUMENTS = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def static() -> Path:
    """The page, built from the sources of this tree."""
    build = ROOT / "scripts" / "build-console"
    if subprocess.run([build, "--has-node"], check=False).returncode:
        pytest.skip("no Node.js that is new enough, so the page cannot be built: make node")
    subprocess.run([build], check=True)
    return ROOT / "holdfast" / "fleet" / "console" / "static"


@pytest.fixture(scope="module")  # while it lives, its event loop keeps others from running theirs in this thread
def chromium() -> Iterator[Any]:
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=executable, args=list(BROWSER_ARGUMENTS), viewport={"width": 1280, "height": 800}
        )
        yield context
        context.close()


@dataclass
class Opened:
    page: Any
    fleet: MockFleet
    url: str
    troubles: list[str]
    """What the browser complained about: uncaught errors, refused by the content policy, other hosts asked."""

    def live(self) -> "Opened":
        """Connected, and all nodes of the fleet are drawn."""
        self.page.get_by_role("status").get_by_text("Live").wait_for()
        self.page.get_by_role("toolbar").get_by_text(f"{len(self.fleet.nodes):,} nodes", exact=True).wait_for()
        return self

    def counted(self, word: str, count: int) -> Any:
        """The legend's button of a stage or health, when it counts so many."""
        return self.page.get_by_role("button", name=f"{word} {count}", exact=True)

    def chosen(self) -> str:
        """The node the keyboard stands on, as a screen reader hears it."""
        return str(self.page.locator("#active-node").inner_text())


@pytest.fixture
def open_page(static: Path, chromium: Any) -> Iterator[Callable[..., Opened]]:
    fleets: list[MockFleet] = []
    with ExitStack() as stack:

        def open_it(size: int = 64, *, token: str = "", address: str = "", scheme: str = "dark") -> Opened:
            fleet = MockFleet(size, token, checked=size <= CHECKED_SIZE)
            fleets.append(fleet)
            url = stack.enter_context(serving(fleet, static))
            chromium.clear_cookies()  # a cookie belongs to a host, whatever its port
            page = chromium.new_page()
            stack.callback(page.close)
            troubles: list[str] = []
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on(
                "console",
                lambda expected: troubles.append(expected.text) if "Content Security" in expected.text else None,
            )
            page.on("request", lambda asked: troubles.append(asked.url) if not asked.url.startswith(url) else None)
            page.emulate_media(color_scheme=scheme)
            page.goto(url + address)
            return Opened(page, fleet, url, troubles)

        yield open_it
    assert [fault for fleet in fleets for fault in fleet.faults] == []
