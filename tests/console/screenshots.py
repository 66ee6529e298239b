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
WIDE, SMALL, TALL, PHONE = ({"width": w, "height": h} for w, h in ((1280, 800), (1180, 620), (1180, 1150), (390, 844)))
LARGEST_BYTES = 250_000
MONEY = "() => parseFloat(document.querySelector('.layers .total td')?.textContent) > 60"


def fleet(page: Any) -> None:
    page.get_by_role("link", name=re.compile(r"Incidents [1-9]")).wait_for()


def node(page: Any) -> None:
    page.locator(".spark polyline").first.wait_for()


def incidents(page: Any) -> None:
    page.get_by_role("button", name="cdu/cdu1").first.wait_for()
    page.get_by_role("button", name="leaf/leaf3").first.wait_for()


def incident(page: Any) -> None:
    page.get_by_role("button", name="cdu/cdu1").first.click()
    page.get_by_role("heading", name="cdu/cdu1: cooling.flow_low").wait_for()
    page.get_by_role("img", name=re.compile("^runtime: ")).wait_for()
    page.wait_for_function(MONEY)


def jobs(page: Any) -> None:
    page.get_by_role("row", name=re.compile("llama-70b")).first.wait_for()


def slow_job(page: Any) -> None:
    page.get_by_text(re.compile("rank 24 = node n057 GPU 0")).first.wait_for()
    page.get_by_role("region", name="Ranks and phases").get_by_role("row", name=re.compile("^24 n057")).wait_for()


def dead_job(page: Any) -> None:
    page.get_by_text(re.compile("Xid 119|gpu.xid fails")).first.scroll_into_view_if_needed()


def probes(page: Any) -> None:
    page.get_by_role("cell", name=re.compile("; suspected")).first.wait_for()


def plan(page: Any) -> None:
    page.locator(".curve polyline").first.wait_for()


def drill(page: Any) -> None:
    if page.get_by_role("heading", name=re.compile("Right: found")).count() == 0:
        page.get_by_role("button", name="Run A pump fades", exact=True).click()
    page.get_by_role("heading", name=re.compile("Right: found")).wait_for()
    page.get_by_role("slider", name="Minute of the drill").press("End")


def alive(page: Any) -> None:
    page.get_by_role("button", name=re.compile(r"allocated [1-9]")).wait_for()


SHOTS: tuple[tuple[str, str, str, dict[str, int], Callable[[Any], None]], ...] = (
    ("node", "#/node/n001", "dark", SMALL, node),
    ("job", "#/jobs/gemma", "light", WIDE, slow_job),
    ("incident", "#/incidents", "light", TALL, incident),
    ("incidents", "#/incidents", "dark", SMALL, incidents),
    ("fleet-dark", "#/", "dark", WIDE, fleet),
    ("fleet-light", "#/?group=loop", "light", WIDE, fleet),
    ("phone-incident", "#/incidents", "dark", PHONE, incident),
    ("phone-fleet", "#/", "dark", PHONE, alive),
    ("jobs", "#/jobs", "dark", SMALL, jobs),
    ("job-died", "#/jobs/mixtral", "dark", WIDE, dead_job),
    ("probes", "#/probes", "dark", WIDE, probes),
    ("drill", "#/drill", "dark", WIDE, drill),
    ("plan", "#/plan/checkpoint", "light", WIDE, plan),
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
        with demo(Path(state)) as running:
            heavy = shoot(context.pages[0], running, target)
        context.close()
    if heavy:
        print(f"larger than {LARGEST_BYTES // 1000} kB: {', '.join(heavy)}")
    return int(bool(heavy))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
