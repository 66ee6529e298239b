"""The agent's files: a lock, 24 h of verdict changes, and the verdict file of the gate."""

import fcntl
import logging
import os
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import msgspec

from holdfast.node.agent.node import CheckChange
from holdfast.runtime import codec

log = logging.getLogger("holdfast.node.agent")

KEEP_SECONDS = 24 * 3600.0
MAX_CHANGES = 10_000


class StateError(RuntimeError):
    """The agent cannot run on this state directory; the message says why."""


class Lock:
    """One agent per node. The lock is released when the process ends, for any reason."""

    def __init__(self, directory: Path) -> None:
        path = directory / "agent.lock"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("a+")
        except OSError as error:
            raise StateError(f"state directory {directory}: {error.strerror}; expected a writable directory") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            raise StateError(f"another holdfast agent (pid {holder}) already runs on {directory}") from None
        with suppress(OSError):  # on a full disk the lock still works; only the name of its owner is missing
            self._file.truncate(0)
            self._file.write(str(os.getpid()))
            self._file.flush()


class ChangeLog:
    """Verdict changes as JSON lines. A corrupt line is skipped; its neighbours are read."""

    def __init__(self, path: Path, now: float) -> None:
        self._path = path
        self.trouble = ""  # why the last write failed, '' when it did not
        self.skipped_lines = 0
        self.changes: deque[CheckChange] = deque(maxlen=MAX_CHANGES)
        self._unwritten: list[CheckChange] = []
        self._lines = 0  # lines in the file; it is rewritten before it grows far beyond the kept changes
        self._load(now)

    def _load(self, now: float) -> None:
        try:
            lines = [line for line in self._path.read_bytes().splitlines() if line]
        except FileNotFoundError:
            return
        except OSError as error:
            self.trouble = f"{self._path}: {error.strerror}"
            return
        for line in lines:
            try:
                change = codec.decode(line, CheckChange)
            except (msgspec.DecodeError, RecursionError):
                self.skipped_lines += 1
                continue
            if change.at >= now - KEEP_SECONDS:
                self.changes.append(change)
        if self.skipped_lines:
            log.warning("%s: skipped %d unreadable lines", self._path, self.skipped_lines)
        self._lines = len(lines)
        if self._lines != len(self.changes):
            self._rewrite()

    def add(self, changes: list[CheckChange], now: float) -> None:
        self.changes.extend(changes)
        self._unwritten.extend(changes)
        del self._unwritten[:-MAX_CHANGES]
        if self._unwritten:
            self._append()
        if self._lines > 2 * MAX_CHANGES or (self.changes and self.changes[0].at < now - 1.25 * KEEP_SECONDS):
            self._forget(now)

    def last(self, check: str) -> CheckChange | None:
        """The last stored change of a check, also from before a restart."""
        return next((change for change in reversed(self.changes) if change.check == check), None)

    def _append(self) -> None:
        """A change that could not be written is written again with the next one."""
        try:
            with self._path.open("ab") as file:
                file.write(b"".join(b"\n" + msgspec.json.encode(asdict(change)) for change in self._unwritten))
        except OSError as error:
            self._report_trouble(f"{self._path}: {error.strerror}")
            return
        self._lines += len(self._unwritten)
        self._unwritten.clear()
        self._report_trouble("")

    def _forget(self, now: float) -> None:
        while self.changes and self.changes[0].at < now - KEEP_SECONDS:
            self.changes.popleft()
        self._rewrite()

    def _rewrite(self) -> None:
        body = b"\n".join(msgspec.json.encode(asdict(change)) for change in self.changes)
        self._lines = len(self.changes)
        self._report_trouble(write_atomically(self._path, body))

    def _report_trouble(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("verdict changes stay in memory: %s", trouble)
        self.trouble = trouble


def write_atomically(path: Path, body: bytes) -> str:
    """Write a temporary file and rename it, so that a reader sees the old or the new file. Returns '' or the error."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        return f"{path}: {error.strerror}"
    return ""


def encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)
