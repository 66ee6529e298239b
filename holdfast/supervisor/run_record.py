"""State of a run on disk, so that a killed supervisor continues."""

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from holdfast.model.ledger import Ledger
from holdfast.runtime import codec
from holdfast.supervisor.attempt import Attempt

STATE = "run.json"


class Busy(Exception):
    """Another supervisor uses this directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The stored document of a run. Users and reports read it too."""

    command: tuple[str, ...]
    began: float
    saved: float = 0.0
    finished: bool = False
    exit_code: int | None = None
    outcome: str = ""
    attempts: tuple[Attempt, ...] = ()
    excluded: tuple[str, ...] = ()
    best_step: int = -1
    wall_seconds: float = 0.0
    ledger: Ledger = field(default_factory=Ledger)


class RunMemory:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock: IO[str] = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"{folder}: another supervisor is running here; expected one per directory") from None

    def load(self, command: tuple[str, ...]) -> RunRecord | None:
        """The unfinished run of the same command, or None. A file that cannot be read is moved aside."""
        path = self.folder / STATE
        try:
            run = codec.decode(path.read_bytes(), RunRecord)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError, RecursionError):
            path.rename(path.with_suffix(".unreadable"))
            return None
        return None if run.finished or run.command != command else run

    def save(self, run: RunRecord) -> None:
        """Writes a temporary file and renames it, so that the file is always complete."""
        path = self.folder / STATE
        beside = path.with_suffix(".part")
        with beside.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(run)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
