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

from holdfast.fleet.console import static_directory

from .conftest import BROWSER_ARGUMENTS
from .demo import Demo, demo
from .large_fleet import fill
from .real import controlling

TIMEOUT = 300_000
WIDE, SMALL, TALL, PHONE = ({"width": w, "height": h} for w, h in ((1280, 800), (1180, 620), (1180, 1150), (390, 844)))
LARGEST_BYTES = 250_000
LARGE = 12_500
SPEED = "8"  # slow enough that an incident is open for as long as its pictures take
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
    page.get_by_role("heading", name="cdu/cdu1: coolant flow is low").wait_for()
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


def topology(page: Any) -> None:
    chosen = page.get_by_label("Show an incident")
    chosen.locator("option", has_text="cdu/cdu1").first.wait_for(state="attached")
    chosen.select_option(label="cdu/cdu1: coolant flow is low")
    page.locator(".cell.lit").first.wait_for()


def history(page: Any) -> None:
    page.locator(".plot-over-time .line.main").first.wait_for()
    page.locator(".calendar td:not(.none)").first.wait_for()


def inbox(page: Any) -> None:
    page.get_by_role("button", name=re.compile("coolant flow is low")).wait_for()


def sign_in(page: Any) -> None:
    page.get_by_role("heading", name="Sign in").wait_for()


def audit(page: Any) -> None:
    page.get_by_role("row").nth(1).wait_for()


# In this order: what is always there, then what the demo's first hour brings, as it comes; a drill takes long.
SHOTS: tuple[tuple[str, str, str, dict[str, int], Callable[[Any], None]], ...] = (
    ("plan", "#/plan/checkpoint", "light", WIDE, plan),
    ("phone-plan", "#/plan/spares", "light", PHONE, plan),
    ("sign-in", "#/sign-in", "light", SMALL, sign_in),
    ("probes", "#/probes", "dark", WIDE, probes),
    ("job-died", "#/jobs/mixtral", "dark", WIDE, dead_job),
    ("job", "#/jobs/gemma", "light", WIDE, slow_job),
    ("jobs", "#/jobs", "dark", SMALL, jobs),
    ("topology", "#/topology", "light", WIDE, topology),
    ("fleet-dark", "#/", "dark", WIDE, fleet),
    ("fleet-light", "#/?group=loop", "light", WIDE, fleet),
    ("inbox", "#/inbox", "light", SMALL, inbox),
    ("incident", "#/incidents", "light", TALL, incident),
    ("phone-incident", "#/incidents", "dark", PHONE, incident),
    ("phone-fleet", "#/", "dark", PHONE, alive),
    ("history", "#/history?subject=cdu%2Fcdu1&signal=cdu_flow_litres_per_minute", "light", TALL, history),
    ("incidents", "#/incidents", "dark", SMALL, incidents),
    ("node", "#/node/n005", "dark", WIDE, node),
    ("audit", "#/audit", "light", SMALL, audit),
    ("drill", "#/drill", "dark", WIDE, drill),
)
READ = "() => !document.body.innerText.includes('Loading')"


def shoot(page: Any, running: Demo, target: Path) -> list[str]:
    page.set_default_timeout(TIMEOUT)
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
        page.wait_for_function(READ)
        page.evaluate("() => { document.activeElement.blur(); return new Promise(requestAnimationFrame) }")
        file = target / f"{name}.png"
        page.screenshot(path=file)
        print(f"{file}: {file.stat().st_size // 1000} kB", flush=True)
        heavy += [name] if file.stat().st_size > LARGEST_BYTES else []
    return heavy


def large(page: Any, state: Path, target: Path) -> list[str]:
    """12,500 nodes, as a real controller serves them."""
    static = static_directory()
    assert static is not None
    fill(state, LARGE)
    with controlling(static, state) as site:
        page.set_default_timeout(TIMEOUT)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.goto(f"{site.address}/#token={site.token}")
        page.get_by_role("toolbar").get_by_text(f"{LARGE:,} nodes", exact=True).wait_for()
        page.wait_for_function(READ)
        file = target / "fleet-12500.png"
        page.screenshot(path=file)
    return [file.stem] if file.stat().st_size > LARGEST_BYTES else []


def main(target: Path) -> int:
    target.mkdir(parents=True, exist_ok=True)
    executable = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryDirectory() as state, sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=executable, args=list(BROWSER_ARGUMENTS), viewport=WIDE
        )
        heavy = large(context.new_page(), Path(state), target)
        with demo(Path(state), "--speed", SPEED) as running:
            heavy += shoot(context.pages[0], running, target)
        context.close()
    if heavy:
        print(f"larger than {LARGEST_BYTES // 1000} kB: {', '.join(heavy)}")
    return int(bool(heavy))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
