"""Losses that this node's agent reports in its verdict file: a GPU, a port."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from holdfast.catalog import job_errors
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event

_MOST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class LostHardware:
    check: str
    what: str
    evidence: Evidence


class AgentVerdicts:
    """Failures that exist at the first read do not explain a silence that begins later."""

    def __init__(self, node: str, path: str) -> None:
        self._node, self._path = node, Path(path)
        self._mark: tuple[float, int] = (0.0, 0)
        self._known: list[LostHardware] = []
        self._before = {one.check for one in self.lost()}

    def lost(self) -> list[LostHardware]:
        """Current failures; empty if no agent runs or its file cannot be read."""
        try:
            found = self._path.stat()
            mark = (found.st_mtime, found.st_size)
            if mark != self._mark and found.st_size <= _MOST_BYTES:
                self._known = self._parse(msgspec.json.decode(self._path.read_bytes()))
                self._mark = mark
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError):
            return []
        return self._known

    def failures(self) -> list[LostHardware]:
        return [one for one in self.lost() if one.check not in self._before]

    def _parse(self, document: Any) -> list[LostHardware]:
        found = []
        for verdict in document["verdicts"]:
            meaning = job_errors.of_verdict(str(verdict["check"]), str(verdict["health"]))
            if meaning.role == "strong":
                found.append(self._one(str(verdict["check"]), str(verdict["reason"]), meaning.cause))
        return found

    def _one(self, check: str, reason: str, cause: str) -> LostHardware:
        says = f"the agent of {self._node} says {check}: {reason}"
        event = Event(
            kind="verdict", code=check, at=time.time(), text=says, severity="fatal", action="see_node",
            detail={"says": says},
        )  # fmt: skip
        evidence = Evidence(event=event, file=str(self._path), host=self._node, role="strong", cause=cause)
        return LostHardware(check, says, evidence)
