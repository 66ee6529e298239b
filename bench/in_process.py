"""In-process recovery against a full restart: from the death of a rank to the next step, over twenty deaths of each.

Three ways to start `examples/train.py`, in turns of some deaths each, so that other work on the machine slows all:
`python -m holdfast.training.launch` with one standby, `holdfast run -- torchrun`, and `torchrun --max-restarts` alone.
A death is SIGKILL of one rank, in turn; the next step is the first step line after the load of rank 0.

    python bench/in_process.py --deaths 20
"""

import argparse
import json
import os
import queue
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from measure import HOLDFAST, PYTHON, RESULTS

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "train.py"
TIMEOUT_SECONDS = 600.0
SMALL = ("--width", "64", "--layers", "2", "--batch", "4")
STEPS_BEFORE = 5  # that a start has made before it is killed
LOADED = re.compile(r"rank 0: step (\d+) from (.*)")
DECIDED = re.compile(r"attempt \d+ ended")
STEP = re.compile(r"step (\d+) loss")
ARMS = ("in_process", "holdfast_run", "torchrun")


def command(arm: str, folder: Path, ranks: int, deaths: int) -> list[str]:
    script = [
        str(EXAMPLE),
        "--dir",
        str(folder),
        "--steps",
        "1000000",
        "--width",
        "64",
        "--layers",
        "2",
        "--batch",
        "4",
    ]
    torchrun = [PYTHON, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    if arm == "in_process":
        return [PYTHON, "-m", "holdfast.training.launch", f"--nproc-per-node={ranks}", *script]
    if arm == "torchrun":
        return [*torchrun, f"--max-restarts={deaths}", *script]
    return [HOLDFAST, "run", "--folder", str(folder / "run"), "--", *torchrun, *script]


class Job:
    def __init__(self, arm: str, folder: Path, ranks: int, deaths: int) -> None:
        self.arm, self.folder, self.ranks = arm, folder, ranks
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        environ |= {"HOLDFAST_RUNTIME_DIR": str(runtime), "HOLDFAST_AGENT_SOCKET": ""}
        self.process = subprocess.Popen(
            command(arm, folder, ranks, deaths),
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: queue.Queue[tuple[float, str]] = queue.Queue()
        self.last_step = -1
        self.ready = arm != "in_process"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line))

    def next(self) -> tuple[float, str]:
        while True:
            try:
                at, line = self.lines.get(timeout=TIMEOUT_SECONDS)
            except queue.Empty:
                raise SystemExit(f"{self.arm}: no output for {TIMEOUT_SECONDS:g} s") from None
            if found := STEP.match(line):
                self.last_step = int(found[1])
            self.ready = self.ready or "a standby is ready" in line
            return at, line

    def settle(self) -> None:
        """Some steps are made, and a standby is there where one belongs to it."""
        made = 0
        while made < STEPS_BEFORE or not self.ready:
            made += bool(STEP.match(self.next()[1]))

    def kill(self, rank: int) -> dict[str, Any]:
        """Of one death: seconds to the next step, and steps that were lost."""
        while not self.lines.empty():
            self.next()
        pid = self._pids()[rank]
        self.ready = self.arm != "in_process"
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        loaded = None
        passed: dict[str, float] = {}  # from the death until the supervisor decided, and until the load
        while True:
            at, line = self.next()
            if DECIDED.search(line):
                passed["decided"] = round(at - began, 3)
            if found := LOADED.search(line):
                loaded = (int(found[1]), found[2])
                passed["loaded"] = round(at - began, 3)
            elif STEP.match(line) and loaded:
                step, source = loaded
                reached = self.reached
                return {"seconds": round(at - began, 3), **passed, "lost": max(reached - step, 0), "from": source}
            elif found := STEP.match(line):
                self.reached = int(found[1])

    reached = 0

    def _pids(self) -> list[int]:
        """By the journal of this job: the processes that hold its ranks now have its script as an argument."""
        found, started = {}, {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if str(self.folder).encode() in words and b"--steps" in words and b"torch.distributed.run" not in words:
                found[int(place.name)], started[int(place.name)] = int(fields[1]), int(fields[19])
        # The standby started last; process ids may have begun anew between.
        leaves = sorted((pid for pid in found if pid not in found.values()), key=lambda pid: started[pid])
        return [pid for pid in leaves if not self._is_launcher(pid)][: self.ranks]

    def _is_launcher(self, pid: int) -> bool:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"holdfast.training.launch" in words or b"run" in words[:3]

    def end(self) -> None:
        self.process.terminate()
        threading.Thread(target=lambda: [self.lines.get() for _ in iter(int, 1)], daemon=True).start()
        self.process.wait(300)
        for lock in (self.folder / "runtime").glob("*.lock"):
            if text := lock.read_text().strip():
                try:
                    os.kill(int(text), signal.SIGTERM)
                except ProcessLookupError:
                    continue


def turn(arm: str, ranks: int, deaths: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="hf", ignore_cleanup_errors=True) as folder:
        job = Job(arm, Path(folder), ranks, deaths)
        try:
            rows = []
            for death in range(deaths):
                job.settle()
                job.reached = job.last_step
                rows.append(job.kill(death % ranks))
                print(f"{arm}: {rows[-1]}", flush=True)
            return rows
        finally:
            job.end()


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = sorted(row["seconds"] for row in rows)
    return {
        "deaths": len(rows),
        "median_seconds": statistics.median(seconds),
        "least_seconds": seconds[0],
        "most_seconds": seconds[-1],
        **{f"{part}_after_seconds": _median(rows, part) for part in ("decided", "loaded")},
        "steps_lost": max(row["lost"] for row in rows),
        "from": sorted({row["from"].split(" ")[0] for row in rows}),
        "seconds": [row["seconds"] for row in rows],
    }


def _median(rows: list[dict[str, Any]], part: str) -> float | None:
    found = [row[part] for row in rows if part in row]
    return statistics.median(found) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deaths", type=int, default=20)
    parser.add_argument("--turn", type=int, default=5, help="deaths of one way before the next has its turn")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--arms", nargs="*", default=ARMS)
    options = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {arm: [] for arm in options.arms}
    while min(map(len, rows.values())) < options.deaths:
        for arm in options.arms:
            rows[arm] += turn(arm, options.ranks, min(options.turn, options.deaths - len(rows[arm])))
            write(options.ranks, rows)


def write(ranks: int, rows: dict[str, list[dict[str, Any]]]) -> None:
    result: dict[str, Any] = {"ranks": ranks, "load_average": round(os.getloadavg()[1], 1)}
    result |= {arm: summary(found) for arm, found in rows.items() if found}
    ours = result.get("in_process", {}).get("median_seconds", 0.0)
    others = [arm for arm in rows if arm in result and arm != "in_process"]
    result["in_process_to"] = {arm: round(ours / result[arm]["median_seconds"], 3) for arm in others}
    (RESULTS / "in_process.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["in_process_to"]), flush=True)


if __name__ == "__main__":
    main()
