"""12,500 nodes through the real API in a real Chromium: seconds until the page is usable, and how much it moves.

`python bench/console_real.py [--nodes N] [--rounds R]`. A real controller reads a store with so many nodes and serves
page and API; both share the machine. CLS is the browser's own measure, up to five seconds after the page
is usable, on a desktop and on a phone. The load of the machine is kept beside the figures.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

from measure import cpu_times, publish, steal_ratio

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.console.conftest import BROWSER_ARGUMENTS  # noqa: E402
from tests.console.large_fleet import fill  # noqa: E402
from tests.console.real import Controller, controlling  # noqa: E402

STATIC = ROOT / "holdfast" / "fleet" / "console" / "static"
TIMEOUT = 300_000  # milliseconds
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
SHIFTS = """new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift_ = (window.shift_ ?? 0) + one.value;
}).observe({ type: "layout-shift", buffered: true });"""


def usable(page: Any, site: Controller, nodes: int) -> float:
    """From asking for the address to all nodes counted and drawn; nothing cached."""
    page.goto("about:blank")
    began = time.monotonic()
    page.goto(f"{site.address}/#token={site.token}")
    page.get_by_role("toolbar").get_by_text(f"{nodes:,} nodes", exact=True).wait_for()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.monotonic() - began


def answer_seconds(site: Controller) -> float:
    asked = Request(f"{site.address}/v1/nodes", headers={"Authorization": f"Bearer {site.token}"})
    began = time.monotonic()
    with urlopen(asked) as reply:
        reply.read()
    return time.monotonic() - began


def measured(browser: Any, site: Controller, nodes: int, rounds: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, (width, height) in SIZES.items():
        seconds, shifts = [], []
        for _ in range(rounds):
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(TIMEOUT)
            page.add_init_script(SHIFTS)
            seconds.append(usable(page, site, nodes))
            page.wait_for_timeout(5_000)
            shifts.append(page.evaluate("window.shift_ ?? 0"))
            page.close()
        found[f"{name}_usable_seconds"] = round(median(seconds), 3)
        found[f"{name}_usable_seconds_best"] = round(min(seconds), 3)
        found[f"{name}_cls_worst"] = round(max(shifts), 4)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    before = cpu_times()
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), options.nodes)
        with controlling(STATIC, Path(folder)) as site, sync_playwright() as driver:
            chromium = shutil.which("chromium")
            browser = driver.chromium.launch(executable_path=chromium, args=list(BROWSER_ARGUMENTS), timeout=TIMEOUT)
            answer_seconds(site)
            found = measured(browser, site, options.nodes, options.rounds)
            answers = [answer_seconds(site) for _ in range(options.rounds)]
            browser.close()
    load = {"load_average": round(os.getloadavg()[0], 1), "steal_ratio": round(steal_ratio(before, cpu_times()), 3)}
    floor = {"nodes_answer_seconds": round(median(answers), 3), "cores": os.cpu_count()}
    publish("console_real", {"nodes": options.nodes, "rounds": options.rounds, **found, **floor, **load})


if __name__ == "__main__":
    main()
