"""Finds flaky tests: runs the quick tests N times next to busy loops, prints a table and stores it.

`make repeat-quick` runs it ten times beside two loops. A test that fails once is fixed at its cause, not retried.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "quick_repeat.json"
BUSY = [sys.executable, "-c", "while True: pass"]
COUNTED = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
SUMMARY = re.compile(r"^.*\d+ (?:passed|failed|errors?)\b.* in [\d.]+s.*$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py.*?)(?: - .*)?$", re.MULTILINE)  # also a file that cannot be imported


def once(number: int) -> dict[str, Any]:
    begun = time.monotonic()
    done = subprocess.run(["make", "quick"], cwd=ROOT, capture_output=True, text=True, check=False)
    # a nested `make` prints the folder that it leaves after this line
    summary = (SUMMARY.findall(done.stdout) or [""])[-1]
    counts = {what.rstrip("s") if what.startswith("error") else what: int(n) for n, what in COUNTED.findall(summary)}
    row = {
        "run": number,
        "seconds": round(time.monotonic() - begun, 1),
        "exit": done.returncode,
        "load": round(os.getloadavg()[0], 1),
        **counts,
        "failures": FAILED.findall(done.stdout),
    }
    if done.returncode:
        row["output"] = (done.stdout + done.stderr)[-4000:]
    return row


def keep(rows: list[dict[str, Any]], busy: int) -> int:
    """After every run, so that those that were made are known however it ends; how many passed."""
    good = len([row for row in rows if row["exit"] == 0])
    result = {"runs": len(rows), "passed": good, "busy_loops": busy, "cores": os.cpu_count(), "each": rows}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2, help="loops that do nothing but take a core")
    options = parser.parse_args()
    loops = [subprocess.Popen(BUSY) for _ in range(options.busy)]
    rows: list[dict[str, Any]] = []
    good = 0
    try:
        print(f"{'run':>3} {'seconds':>8} {'load':>5} {'passed':>7} {'failed':>7}")
        for number in range(1, options.runs + 1):
            row = once(number)
            rows.append(row)
            good = keep(rows, options.busy)
            failed = row.get("failed", 0) + row.get("error", 0)
            print(f"{number:>3} {row['seconds']:>8} {row['load']:>5} {row.get('passed', 0):>7} {failed:>7}", flush=True)
            for name in row["failures"]:
                print(f"      {name}")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    print(f"{good} of {len(rows)} runs passed beside {options.busy} busy loops on {os.cpu_count()} cores")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
