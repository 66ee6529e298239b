"""Finds leftovers of jobs on this node: keepers without ranks, files of dead keepers, unfinished writes."""

import fcntl
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.training.checkpoint.keeper.site import memory_path, runtime_folder
from holdfast.training.checkpoint.keeper.wire import PeerProcess, receive, send

ANSWER_SECONDS = 5.0
POLL_SECONDS = 0.1
SUFFIXES = (".lock", ".sock", ".log")
DRAFT = re.compile(r"rank-\d+\.draft-(\d+)")
DRAFT_SECONDS = 3600.0  # a draft of another node that has not changed for this long is abandoned


@dataclass(frozen=True, slots=True)
class LeftKeeper:
    """A running keeper on this node."""

    path: Path
    pid: int
    job: str = ""
    ranks: tuple[int, ...] = ()  # ranks that use it now
    idle_seconds: float = 0.0
    used_bytes: int = 0
    unreadable: str = ""  # why it did not answer

    @property
    def idle(self) -> bool:
        return not self.ranks and not self.unreadable


def keepers(folder: Path | None = None) -> list[LeftKeeper]:
    """Running keepers of this user, with the ranks that each reports."""
    return [_asked(lock) for lock in _locks(folder) if _held_by(lock)]


def dead_files(folder: Path | None = None) -> list[Path]:
    """Lock, socket and log files of keepers that ended, and the files that their trainers wrote into memory."""
    return [
        path
        for lock in _locks(folder)
        if not _held_by(lock)
        for path in (*(lock.with_suffix(suffix) for suffix in SUFFIXES), memory_path(lock))
        if path.exists()
    ]


def drafts(storage: Path, now: float) -> list[Path]:
    """Shards in storage whose writer ended before they were complete."""
    found = []
    for path in sorted(storage.glob("step-*/rank-*.draft-*")):
        match = DRAFT.fullmatch(path.name)
        with suppress(OSError):
            old = now - max(entry.stat().st_mtime for entry in (path, *path.iterdir())) > DRAFT_SECONDS
            if match and old:
                found.append(path)
    return found


def remove(paths: list[Path]) -> list[Path]:
    """Removes files and returns those that are gone."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return [path for path in paths if not path.exists()]


def end(keeper: LeftKeeper, seconds: float) -> bool:
    """Asks a keeper to write its copies to storage and end. Returns whether it ended in time."""
    process = PeerProcess(keeper.pid)
    try:
        if _held_by(keeper.path.with_suffix(".lock")) != keeper.pid:
            return True  # it ended by itself; its number may belong to another process now
        with suppress(ProcessLookupError):
            os.kill(keeper.pid, signal.SIGTERM)
        until = time.monotonic() + seconds
        while not process.ended() and _held_by(keeper.path.with_suffix(".lock")) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return process.ended() or not _held_by(keeper.path.with_suffix(".lock"))
    finally:
        process.close()


def _locks(folder: Path | None) -> Iterator[Path]:
    yield from sorted((folder or runtime_folder()).glob("*-????????????????.lock"))


def _held_by(lock: Path) -> int:
    """The process that holds the lock; 0: none."""
    try:
        fd = os.open(lock, os.O_RDWR)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = lock.read_text().strip()
        return int(text) if text.isdecimal() else -1
    finally:
        os.close(fd)
    return 0


def _asked(lock: Path) -> LeftKeeper:
    path, pid = lock.with_suffix(".sock"), _held_by(lock)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(ANSWER_SECONDS)
            line.connect(str(path))
            send(line, {"do": "status"})
            answer: dict[str, Any] = receive(line)
        ranks = tuple(int(rank) for rank in answer["ranks"])
        idle, used = float(answer["idle_seconds"]), int(answer["used_bytes"])
        return LeftKeeper(path, pid, str(answer["job"]), ranks, idle, used)
    except (OSError, KeyError, TypeError, ValueError) as error:
        return LeftKeeper(path, pid, unreadable=str(error) or type(error).__name__)
