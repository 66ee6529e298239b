"""One attempt from its start to its end: its output, its progress, and whether it still moves."""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.supervisor import looks, progress
from holdfast.supervisor.accounts import Accounts
from holdfast.supervisor.child import Child
from holdfast.supervisor.looks import Look
from holdfast.supervisor.options import Options

_BEAT_SECONDS = 0.25
_BETWEEN_LOOKS_SECONDS = 2.0

Tell = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    exit_code: int = 0
    ended_by: str = ""
    signal: int = 0  # that we were sent ourselves
    silent_seconds: float = 0.0
    first_step: int | None = None
    last_step: int | None = None
    looks: list[Look] = field(default_factory=list)


class Watch:
    def __init__(self, options: Options, accounts: Accounts, tell: Tell) -> None:
        self._options, self._accounts, self._tell = options, accounts, tell
        self._silence = progress.Silence(options.hang_factor, options.hang_floor_seconds)
        self._outcome = Outcome()
        self._told_to_end = 0
        self._looked: list[Look] = []
        self._look_at = 0.0

    def run(self, environ: Mapping[str, str], log: Path) -> Outcome:
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        child = Child(self._options.command, environ, log, self._hear)
        try:
            while child.pump(_BEAT_SECONDS) is None and not self._is_over(child):
                pass
        finally:
            grace = self._options.grace_seconds
            if self._told_to_end:
                self._outcome.signal = self._told_to_end
                _wait_for(child, grace)
            self._outcome.exit_code = child.end(grace if not self._outcome.ended_by else min(grace, 2.0))
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._outcome

    def _on_signal(self, number: int, _: object) -> None:
        self._told_to_end = number

    def _hear(self, line: bytes) -> None:
        told = progress.told_by(line)
        if told is None:
            return
        now = time.monotonic()
        if told.save:
            self._accounts.save(now, told.save)
            return
        assert told.step is not None
        self._silence.progress(now)
        self._accounts.step(now, told.step)
        first = self._outcome.first_step
        self._outcome.first_step = told.step if first is None else first
        self._outcome.last_step = told.step
        self._looked = []

    def _is_over(self, child: Child) -> bool:
        if self._told_to_end:
            child.signal(self._told_to_end)
            return True
        now = time.monotonic()
        if self._silence.is_too_long(now) and now >= self._look_at:
            self._look_at = now + _BETWEEN_LOOKS_SECONDS
            return self._has_stopped(child, now)
        return False

    def _has_stopped(self, child: Child, now: float) -> bool:
        """Silence alone may be an evaluation: two looks must show that no rank did anything in between."""
        before, self._looked = self._looked, looks.at_ranks(child.pid, self._options.node)
        earlier = {one.rank: one for one in before}
        if not before or any(one.moved_since(earlier.get(one.rank, one)) for one in self._looked):
            return False
        if len(before) != len(self._looked):
            return False
        self._outcome.looks = self._looked
        self._outcome.silent_seconds = self._silence.seconds(now)
        self._outcome.ended_by = (
            f"no progress for {self._outcome.silent_seconds:.0f} s where {self._silence.usual or 0.0:.1f} s is usual, "
            "and no rank does anything"
        )
        self._tell(self._outcome.ended_by)
        return True


def _wait_for(child: Child, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while child.pump(_BEAT_SECONDS) is None and time.monotonic() < deadline:
        pass
