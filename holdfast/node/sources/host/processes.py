"""Processes that hang inside the kernel, found by scanning /proc/PID/stat. Only the main thread is read; all threads
would cost too much on a node with many ranks."""

import os
from typing import NamedTuple

from holdfast.formats.host import proc as formats
from holdfast.node.sources.small_file import text_or_nothing


class _Stuck(NamedTuple):
    since: float
    mark: tuple[int, int, int]  # started, CPU ticks, context switches: any change means that it moved


class ProcessCount(NamedTuple):
    stuck: int
    zombies: int
    longest_stuck_seconds: float
    longest_stuck_name: str  # '' when nothing is stuck


class ProcessScan:
    """Remembers since when each stuck process has not moved; a busy writer that is often in D state does move."""

    def __init__(self, proc: str) -> None:
        self._proc = proc
        self._stuck: dict[int, _Stuck] = {}

    def scan(self, now: float) -> ProcessCount | str:
        """The stuck processes, or why they cannot be read."""
        try:
            pids = [name for name in os.listdir(self._proc) if name.isdecimal()]
        except OSError as error:
            return f"{self._proc} cannot be listed: {error.strerror}"
        found = [process for pid in pids if (process := self._process(pid))]
        if not found:
            return f"{self._proc} shows no process"
        stuck = {process.pid: process for process in found if process.stuck}
        self._stuck = {pid: self._since(process, now) for pid, process in stuck.items()}
        zombies = sum(process.state == "Z" for process in found)
        oldest = min(self._stuck, key=lambda pid: self._stuck[pid].since, default=None)
        if oldest is None:
            return ProcessCount(0, zombies, 0.0, "")
        age = max(0.0, now - self._stuck[oldest].since)
        return ProcessCount(len(stuck), zombies, age, f"{stuck[oldest].command} (pid {oldest})")

    def _process(self, pid: str) -> formats.ProcProcess | None:
        return formats.process(text_or_nothing(f"{self._proc}/{pid}/stat"))  # '' if it ended while we looked

    def _since(self, process: formats.ProcProcess, now: float) -> _Stuck:
        status = text_or_nothing(f"{self._proc}/{process.pid}/status")
        mark = (process.started, process.cpu_ticks, formats.context_switches(status))
        before = self._stuck.get(process.pid)
        return before if before and before.mark == mark else _Stuck(now, mark)
