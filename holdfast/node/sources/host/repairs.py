"""Repairs: marks by an operator or action that a subject was repaired, so that older events no longer count."""

import json
import math
import os
from pathlib import Path

from holdfast.model.event_log import CLEARED
from holdfast.model.signal import Event, Reading
from holdfast.model.subject import Subject

FILE = "repairs.jsonl"
MOST_BYTES = 1 << 20


class RepairsSource:
    """Reads marks that `append` wrote. A mark counts once; garbage lines are passed over."""

    name = "repairs"
    every = 2.0
    deadline = 5.0
    carries: tuple[str, ...] = ()

    def __init__(self, state_dir: str) -> None:
        self._path = Path(state_dir) / FILE if state_dir else None
        self._taken = 0

    def read(self, now: float) -> Reading:
        return Reading(source=self.name, at=now, events=[mark for mark in self._new_marks() if mark.at <= now + 60])

    def _new_marks(self) -> list[Event]:
        if self._path is None:
            return []
        try:
            if self._path.stat().st_size == self._taken:
                return []
            lines = self._path.read_bytes()[-MOST_BYTES:].splitlines()
            marks = [mark for line in lines if (mark := _mark(line))]
            self._taken = self._path.stat().st_size
        except OSError:
            return []
        return marks


def record_repair(state_dir: str, subject: Subject, at: float, reason: str) -> None:
    """Append a mark in one write, so that two writers never mix lines. OSError if it cannot be stored."""
    line = json.dumps({"at": at, "subject": subject, "reason": reason}) + "\n"
    handle = os.open(Path(state_dir) / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def _mark(line: bytes) -> Event | None:
    try:
        document = json.loads(line)
        at, subject, reason = float(document["at"]), document["subject"], str(document.get("reason", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(subject, str) or not math.isfinite(at):
        return None
    return Event(kind=CLEARED, at=at, subject=subject, text=reason)
