"""What every bench shares: CPU seconds of a process tree to the nanosecond, memory, steal, and one JSON line out."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PYTHON = sys.executable
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def cpu_seconds(pid: int) -> float:
    """Time on a CPU of all threads of a process, from the scheduler's own nanosecond account."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def steal_ratio(before: list[int], after: list[int]) -> float:
    """Share of CPU time the hypervisor took away: figures under much of it mean little."""
    spent = sum(after) - sum(before)
    return (after[7] - before[7]) / spent if spent else 0.0


def cpu_times() -> list[int]:
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended, by its id, when the block is left."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def one_shot(command: list[str], **options: Any) -> tuple[float, float, int]:
    """(wall seconds, CPU seconds, peak bytes) of one run of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def load_average() -> float:
    """Of the last five minutes, with all other work of the machine."""
    return round(os.getloadavg()[1], 1)


def publish(name: str, figures: dict[str, Any]) -> None:
    """Keep the figures and print them as one line."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps({"bench": name, **figures}))
