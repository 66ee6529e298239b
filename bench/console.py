"""The page with 12,500 nodes in a real Chromium: first usable paint, an update of 1 %, frames, memory and bytes.

`python bench/console.py [--nodes N]`. The controller is the mock of the tests, so what is measured is the page. The
floor beside it is an empty page with one canvas of the same size in the same browser.
"""

import argparse
import gzip
import json
import random
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

from measure import publish

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.console.conftest import BROWSER_ARGUMENTS  # noqa: E402
from tests.console.mock_api import STAGES, MockFleet, serving  # noqa: E402

ROUNDS = 10
SETTLE_MILLISECONDS = 400
STATIC = ROOT / "holdfast" / "fleet" / "console" / "static"
FLOOR = "<!doctype html><canvas width=1248 height=500></canvas>"
WATCH = """() => {
    window.frames_ = [];
    let last = performance.now();
    const note = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(note) };
    requestAnimationFrame(note);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=12_500)
    nodes = parser.parse_args().nodes
    fleet = MockFleet(nodes)
    from playwright.sync_api import sync_playwright

    with serving(fleet, STATIC) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(BROWSER_ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_content(FLOOR)
        floor_memory = renderer_megabytes(browser, page)
        first = [first_paint(page, url, nodes) for _ in range(3)]
        found = {
            "nodes": nodes,
            "first_usable_paint_seconds": round(median(first), 3),
            "floor_answer_seconds": round(answer_seconds(url), 3),
            **updates(page, fleet, nodes),
            **frames(page, fleet, nodes),
            "renderer_megabytes": round(renderer_megabytes(browser, page)),
            "floor_renderer_megabytes": round(floor_memory),
            **sizes(fleet, nodes),
        }
        browser.close()
    publish("console", found)


def first_paint(page: Any, url: str, nodes: int) -> float:
    """From asking for the address to all nodes counted and drawn; nothing cached."""
    page.goto("about:blank")
    began = time.monotonic()
    page.goto(url)
    page.get_by_role("toolbar").get_by_text(f"{nodes:,} nodes", exact=True).wait_for()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return time.monotonic() - began


def answer_seconds(url: str) -> float:
    """What the nodes' list alone takes to be asked for and read by Python."""
    began = time.monotonic()
    with urlopen(f"{url}v1/nodes") as reply:
        json.load(reply)
    return time.monotonic() - began


def updates(page: Any, fleet: MockFleet, nodes: int) -> dict[str, object]:
    """Main-thread time of an update of 1 % of the nodes: all tasks, less what an idle page does in as long."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    names, chance = list(fleet.nodes), random.Random(1)
    idle = median(_busy(page, session, lambda: None) for _ in range(ROUNDS))

    def one_per_cent() -> None:
        for name in chance.sample(names, max(1, nodes // 100)):
            stage, health = chance.choice(STAGES), chance.choice(("pass", "degraded", "fail"))
            fleet.change(name, stage=stage, health=health, reason="measured", quietly=True)

    busy = [_busy(page, session, one_per_cent) - idle for _ in range(ROUNDS)]
    return {
        "update_nodes": max(1, nodes // 100),
        "update_main_thread_milliseconds": round(median(busy), 1),
        "update_main_thread_milliseconds_most": round(max(busy), 1),
    }


def _busy(page: Any, session: Any, do: Any) -> float:
    before = _task_seconds(session)
    do()
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    return 1000 * (_task_seconds(session) - before)


def _task_seconds(session: Any) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def frames(page: Any, fleet: MockFleet, nodes: int) -> dict[str, object]:
    """Four seconds in which 1 % of the nodes change every second."""
    page.evaluate(WATCH)
    names, chance = list(fleet.nodes), random.Random(2)
    for _ in range(40):
        for name in chance.sample(names, max(1, nodes // 1000)):
            fleet.change(name, stage=chance.choice(STAGES), reason="measured", quietly=True)
        page.wait_for_timeout(100)
    seen = sorted(page.evaluate("window.frames_"))
    return {f"frame_milliseconds_p{share}": round(seen[len(seen) * share // 100], 1) for share in (50, 99)}


def renderer_megabytes(browser: Any, page: Any) -> float:
    """Of the renderer's process, what is its own: private and anonymous, after its garbage was collected."""
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(_own(int(one["id"])) for one in processes if one["type"] == "renderer") / 1000


def _own(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("RssAnon")))


def sizes(fleet: MockFleet, nodes: int) -> dict[str, object]:
    parts = [file for file in STATIC.rglob("*") if file.suffix in (".html", ".js", ".css")]
    a_change = len(json.dumps(next(iter(fleet.nodes.values()))).encode()) + len("event: node\ndata: \n\n")
    whole = json.dumps({"nodes": list(fleet.nodes.values())}).encode()
    return {
        "page_gzip_bytes": sum(len(gzip.compress(file.read_bytes(), 9)) for file in parts),
        "update_api_bytes": a_change * max(1, nodes // 100),
        "first_api_bytes": len(whole),
        "first_api_bytes_gzip": len(gzip.compress(whole, 6)),
    }


if __name__ == "__main__":
    main()
