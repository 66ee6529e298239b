"""Waiting for what another thread or process does: by looking at it, never by a pause that is long enough today."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TIMEOUT_SECONDS = 200.0  # many times what a busy machine takes: who waits so long has found a fault
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.001, 0.05

Found = TypeVar("Found")


def until(
    holds: Callable[[], Found],
    what: str | Callable[[], str] = "what was waited for",
    timeout: float = TIMEOUT_SECONDS,
    lives: Callable[[], bool] = lambda: True,
) -> Found:
    """The first true answer. `lives` says whether one can still come: nobody waits for a process that has ended."""
    deadline, pause = time.monotonic() + timeout, SHORTEST_PAUSE_SECONDS
    while True:
        over = time.monotonic() >= deadline or not lives()  # asked first: what it did as its last action counts
        if found := holds():
            return found
        assert not over, f"not within {timeout:g} s: {what if isinstance(what, str) else what()}"
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def alive(pid: int) -> bool:
    """Not a process that has ended and whose parent, often the machine's first process, has not asked for it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
