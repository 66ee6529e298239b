"""Frame times of the page with 12,500 nodes changing, one JSON line per load: `python -m tests.console.measure_frames`.

No test: what a frame takes depends on the machine. docs/console.md quotes a run.
"""

import json
import random
import shutil
import tempfile
import time
from typing import Any

from playwright.sync_api import sync_playwright

from .conftest import BROWSER_ARGUMENTS, ROOT
from .mock_api import STAGES, MockFleet, serving

NODES = 12_500
SECONDS = 8.0
TICK_SECONDS = 0.1
WATCH = """() => {
    window.frames_ = []; window.tasks = [];
    let last = performance.now();
    const note = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(note) };
    requestAnimationFrame(note);
    new PerformanceObserver((list) => list.getEntries().forEach((one) => window.tasks.push(one.duration)))
        .observe({ entryTypes: ["longtask"] });
}"""
LOADS = {"idle": 0, "1 % of nodes a second": 125, "10 % a second": 1_250, "every node each second": 12_500}


def measure(page: Any, fleet: MockFleet, load: str, per_second: int) -> dict[str, object]:
    names, chance = list(fleet.nodes), random.Random(1)
    page.evaluate("window.frames_.length = window.tasks.length = 0")
    sent, began = 0, time.monotonic()
    while (spent := time.monotonic() - began) < SECONDS:
        for name in chance.choices(names, k=int(per_second * spent) - sent):
            health = chance.choice(("pass", "degraded", "fail", "unknown"))
            fleet.change(name, stage=chance.choice(STAGES), health=health, reason="measured", quietly=True)
            sent += 1
        page.wait_for_timeout(TICK_SECONDS * 1000)
    frames, tasks = sorted(page.evaluate("window.frames_")), page.evaluate("window.tasks")
    at = {f"frame_ms_p{share}": round(frames[len(frames) * share // 100], 1) for share in (50, 95, 99)}
    return {
        "load": load,
        "changes_per_second": round(sent / SECONDS),
        "frames_per_second": round(len(frames) / SECONDS),
        **at,
        "frame_ms_max": round(frames[-1], 1),
        "tasks_over_50_ms": len(tasks),
        "longest_task_ms": round(max(tasks, default=0)),
    }


def main() -> None:
    fleet = MockFleet(NODES)
    executable = shutil.which("chromium")
    static = ROOT / "holdfast" / "console" / "static"
    with serving(fleet, static) as url, sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=executable, args=list(BROWSER_ARGUMENTS), viewport={"width": 1280, "height": 800}
        )
        page = context.pages[0]
        began = time.monotonic()
        page.goto(url)
        page.get_by_text("12,500 nodes").wait_for()
        print(json.dumps({"load": "first view of 12,500 nodes", "seconds": round(time.monotonic() - began, 2)}))
        page.evaluate(WATCH)
        for load, per_second in LOADS.items():
            print(json.dumps(measure(page, fleet, load, per_second)))
        page.get_by_label("Filter").fill("health:fail")
        print(json.dumps(measure(page, fleet, "10 % a second, filtered, so that cells move", 1_250)))
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        print(json.dumps({"load": "memory", "javascript_heap_megabytes": round(heap / 1e6)}))
        context.close()


if __name__ == "__main__":
    main()
