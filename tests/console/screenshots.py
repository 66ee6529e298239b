"""Pictures of every view of a running demo, for README and docs: `make screenshots`, which is this with a directory.

Each picture is looked at before it is committed.
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from .conftest import BROWSER_ARGUMENTS
from .demo import Demo, demo

PATIENCE = 300_000
WIDE, SMALL, PHONE = ({"width": w, "height": h} for w, h in ((1280, 800), (1180, 620), (390, 844)))
LARGEST_BYTES = 150_000


def fleet(page: Any) -> None:
    page.get_by_role("region", name="Open incidents").wait_for()


def node(page: Any) -> None:
    page.locator(".spark polyline").first.wait_for()


def incidents(page: Any) -> None:
    page.get_by_role("button", name="leaf/leaf3").first.wait_for()


def incident(page: Any) -> None:
    incidents(page)
    page.get_by_role("button", name="leaf/leaf3").first.click()
    page.get_by_role("heading", name="leaf/leaf3").wait_for()


def jobs(page: Any) -> None:
    page.get_by_role("row", name=re.compile("twin-")).first.wait_for()


def job(page: Any) -> None:
    jobs(page)
    page.get_by_role("button", name=re.compile("twin-")).first.click()
    page.get_by_role("heading", name=re.compile("twin-")).wait_for()


def probes(page: Any) -> None:
    page.locator(".matrix td.usual").nth(3).wait_for()


def plan(page: Any) -> None:
    page.locator(".curve polyline").first.wait_for()


def drill(page: Any) -> None:
    if page.get_by_role("heading", name=re.compile("Right: found")).count() == 0:
        page.get_by_role("button", name="Play A pump fades", exact=True).click()
    page.get_by_role("heading", name=re.compile("Right: found")).wait_for()
    page.get_by_role("slider", name="Minute of the drill").press("End")


def alive(page: Any) -> None:
    page.get_by_role("button", name=re.compile(r"allocated [1-9]")).wait_for()


SHOTS: tuple[tuple[str, str, str, dict[str, int], Callable[[Any], None]], ...] = (
    ("drill", "#/drill", "dark", WIDE, drill),
    ("plan", "#/plan/checkpoint", "light", WIDE, plan),
    ("fleet-dark", "#/", "dark", WIDE, fleet),
    ("fleet-light", "#/?group=leaf", "light", WIDE, fleet),
    ("incident", "#/incidents", "light", SMALL, incident),
    ("phone-fleet", "#/", "dark", PHONE, alive),
    ("node", "#/node/n001", "dark", SMALL, node),
    ("probes", "#/probes", "dark", WIDE, probes),
    ("jobs", "#/jobs", "dark", SMALL, jobs),
    ("job", "#/jobs", "light", WIDE, job),
    ("phone-plan", "#/plan/spares", "light", PHONE, plan),
)


def shoot(page: Any, running: Demo, target: Path) -> list[str]:
    page.set_default_timeout(PATIENCE)
    heavy = []
    page.goto(f"{running.address}/#token={running.token}")
    page.get_by_role("status").get_by_text("Live").wait_for()
    for name, address, scheme, size, ready in SHOTS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto("about:blank")
        page.goto(f"{running.address}/{address}")
        page.get_by_role("status").get_by_text("Live").wait_for()
        ready(page)
        page.evaluate("() => { document.activeElement.blur(); return new Promise(requestAnimationFrame) }")
        file = target / f"{name}.png"
        page.screenshot(path=file)
        print(f"{file}: {file.stat().st_size // 1000} kB", flush=True)
        heavy += [name] if file.stat().st_size > LARGEST_BYTES else []
    return heavy


def main(target: Path) -> int:
    target.mkdir(parents=True, exist_ok=True)
    executable = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryDirectory() as state, sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=executable, args=list(BROWSER_ARGUMENTS), viewport=WIDE
        )
        with demo(Path(state), "--speed", "40") as running:
            heavy = shoot(context.pages[0], running, target)
        context.close()
    if heavy:
        print(f"larger than {LARGEST_BYTES // 1000} kB: {', '.join(heavy)}")
    return int(bool(heavy))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
