"""A server of somebody else, started for a test on a port of its own and ended with it."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until

TIMEOUT_SECONDS = 60.0


@contextmanager
def served(command: Sequence[str], log: Path, ready: Callable[[], bool]) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=log.parent)
    try:
        until(ready, log.read_text, TIMEOUT_SECONDS, lambda: process.poll() is None)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)
