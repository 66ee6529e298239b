"""Collects the evidence of an attempt: its log, kernel messages, exit code."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.diagnosis.evidence import flight_recorder as dump_evidence
from holdfast.diagnosis.rules import collectives
from holdfast.formats.job.log import JobLog
from holdfast.formats.job.message import of_kernel
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value
from holdfast.node.sources.host.kmsg import KmsgSource
from holdfast.node.sources.jobs import dump_files, log_file


class KernelWatch:
    """Kernel messages from now on."""

    def __init__(self, node: str, path: str, now: float) -> None:
        self._node = node
        self._path = path
        self._source = KmsgSource(node, path)
        self.blind = self._source.read(now).blind
        self._events: list[Event] = []

    def capture(self, now: float) -> list[Event]:
        """Everything since the last call."""
        new = list(self._source.read(now).events)
        self._events += new
        return new

    def evidence(self, now: float) -> list[Evidence]:
        self.capture(now)
        return [replace(of_kernel(event, self._node), file=self._path) for event in self._events]

    def close(self) -> None:
        self._source.close()


def of_log(log: Path, node: str, until: int | None) -> list[Evidence]:
    """Evidence of the log, up to the line from which on the supervisor itself caused the errors."""
    reader = JobLog()
    try:
        for chunk in log_file.chunks(log):
            reader.feed(chunk)
    except log_file.Unreadable:
        pass
    found = [one for one in reader.finish() if until is None or one.event.line <= until]
    return [replace(one, file=str(log), host=_host(one.host, node)) for one in found]


def of_exit(exit_code: int, log: Path, node: str, at: float, command: Sequence[str]) -> Evidence:
    """Evidence from the exit code of the command. A launcher that names the failed worker says more."""
    detail: dict[str, Value] = {"exit": float(exit_code)}
    how = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    event = Event(
        kind="exit", code="command", at=at, text=f"{Path(command[0]).name} ended with {how}", detail=detail, line=0
    )
    return Evidence(event=event, file=str(log), host=node, role="exit")


def of_dumps(folder: Path) -> list[Evidence]:
    """Evidence from the Flight Recorder dumps. An empty folder is removed."""
    for pipe in folder.glob("*.pipe"):
        pipe.unlink(missing_ok=True)
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    if not files:
        with suppress(OSError):
            folder.rmdir()
        return []
    read = {found.rank: (found, file) for file, found in dump_files.read_all(files) if not isinstance(found, str)}
    collective_states = collectives.collective_states([dump for dump, _ in read.values()])
    return dump_evidence.evidence(collective_states, {rank: str(file) for rank, (_, file) in read.items()})


def _host(reported: str, node: str) -> str:
    """The host name; a launcher on one machine calls it localhost."""
    return node if reported in ("", "localhost") or reported.startswith("localhost.") else reported
