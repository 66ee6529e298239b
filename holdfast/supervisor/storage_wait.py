"""Waits until storage accepts writes again: enough space for the largest file, and an answer."""

import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

_EVERY_SECONDS = 5.0
_ANSWER_SECONDS = 20.0
_LEAST_BYTES = 1 << 20


def wait(path: str, timeout_seconds: float, notify: Callable[[str], None]) -> str:
    """Waits until a write succeeds. Returns '' or the reason for giving up."""
    deadline = time.monotonic() + timeout_seconds
    logged = ""
    while why := trouble(path):
        if why != logged:
            notify(f"waits for storage: {why}")
            logged = why
        if time.monotonic() + _EVERY_SECONDS > deadline:
            return why
        time.sleep(_EVERY_SECONDS)
    return ""


def trouble(path: str) -> str:
    """Why nothing can be written there. Runs in its own process, because a write to dead storage cannot be
    interrupted."""
    context = get_context("fork")
    answer, ask = context.Pipe(duplex=False)
    worker = context.Process(target=lambda: ask.send(_try(Path(path))), daemon=True)
    worker.start()
    if not answer.poll(_ANSWER_SECONDS):
        worker.kill()
        return f"{path}: no answer within {_ANSWER_SECONDS:.0f} s"
    worker.join()
    return str(answer.recv())


def _try(path: Path) -> str:
    folder = next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))
    trial = folder / f".holdfast-{os.getpid()}"
    try:
        largest = max((one.stat().st_size for one in folder.iterdir() if one.is_file()), default=0)
        with trial.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, largest + _LEAST_BYTES)
            file.write(b"\0")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"{folder}: {error.strerror}"
    finally:
        trial.unlink(missing_ok=True)
    return ""
