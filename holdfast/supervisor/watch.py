"""Watches one attempt on this node from start to end: output, progress, and hangs."""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.model.evidence import Evidence
from holdfast.supervisor import processes, progress
from holdfast.supervisor.accounts import RunAccounts
from holdfast.supervisor.child import Child
from holdfast.supervisor.evidence import capture
from holdfast.supervisor.evidence import stack_capture as captures
from holdfast.supervisor.evidence.stack_capture import StackCapture
from holdfast.supervisor.hardware.activity import Activity, Signs
from holdfast.supervisor.hardware.hardware import Hardware
from holdfast.supervisor.hardware.suspicion import Presumed, Suspicion
from holdfast.supervisor.nodes.rendezvous import Rendezvous
from holdfast.supervisor.nodes.report import AttemptEnd
from holdfast.supervisor.options import RunOptions

_BEAT_SECONDS = 0.25
_BETWEEN_CAPTURES_SECONDS = 2.0
_SETTLE_SECONDS = 3.0  # time for the command to end with its own error after that of another node ended
_HURRY_SECONDS = 2.0  # grace period for ranks that do nothing
_FLUSH_SECONDS = 120.0  # time to write checkpoints from memory to storage before the node is released

Notify = Callable[[str], None]


@dataclass(slots=True)
class AttemptOutcome:
    exit_code: int = 0
    ended_by: str = ""
    signal: int = 0
    silent_seconds: float = 0.0
    first_step: int | None = None
    last_step: int | None = None
    lines: int | None = None  # line of the log at which the supervisor ended it: later errors are its own effect
    captures: list[StackCapture] = field(default_factory=list)
    presumed: list[Presumed] = field(default_factory=list)
    captured: list[Evidence] = field(default_factory=list)  # result of the requests to a hanging job before its end


class AttemptWatch:
    def __init__(
        self,
        options: RunOptions,
        number: int,
        accounts: RunAccounts,
        rendezvous: Rendezvous,
        suspicion: Suspicion,
        notify: Notify,
    ) -> None:
        self._options, self._number, self._accounts = options, number, accounts
        self._rendezvous, self._suspicion, self._notify = rendezvous, suspicion, notify
        self._silence = progress.ProgressSilence(options.hang_factor, options.hang_floor_seconds)
        self._pulse = progress.ProgressSilence(
            options.hang_factor, options.hang_floor_seconds
        )  # GPUs and ports with activity
        self._hardware = Hardware(options.node, options.sys, options.nvml)
        self._activity = Activity()
        self.alone = False  # all ranks are here, so they can only wait for each other
        self._outcome = AttemptOutcome()
        self._end_signal = 0
        self._captured: list[StackCapture] = []
        self._next_capture_at = 0.0
        self._settled_at: float | None = None
        self._confirmed = False  # the job itself reported a lost connection
        self.dumps: Path | None = None  # pipes through which ranks can be asked for their Flight Recorder

    def run(self, environ: Mapping[str, str], log: Path) -> AttemptOutcome:
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            child = Child(self._options.command, environ, log, self._read)
            self._hardware.start(child.pid)
            try:
                while child.pump(_BEAT_SECONDS) is None and not self._is_over(child):
                    self._sample_hardware()
            finally:
                self._hardware.stop()
                self._end(child)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._outcome

    def _end(self, child: Child) -> None:
        outcome, grace = self._outcome, self._options.grace_seconds
        if self._end_signal:
            outcome.signal = self._end_signal
            _wait_for(child, grace)
        outcome.lines = child.lines if outcome.ended_by else None
        outcome.exit_code = child.end(min(grace, _HURRY_SECONDS) if outcome.ended_by else grace)
        if outcome.signal or not (outcome.ended_by or outcome.exit_code):
            processes.release(_FLUSH_SECONDS if outcome.signal else 0.0)
        if outcome.ended_by or outcome.exit_code:
            why = outcome.ended_by or f"its command ended with {outcome.exit_code}"
            end = AttemptEnd(node=self._options.node, why=why, hang=bool(outcome.captures))
            self._rendezvous.announce_end(self._number, end)

    def _on_signal(self, number: int, _: object) -> None:
        self._end_signal = number

    def _read(self, line: bytes) -> None:
        found = progress.in_line(line)
        if found is None:
            self._confirmed = self._confirmed or progress.confirms_loss(line)
            return
        now = time.monotonic()
        if found.save:
            self._accounts.save(now, found.save)
            return
        assert found.step is not None
        self._silence.progress(now)
        self._activity.progress(now)
        self._accounts.step(now, found.step)
        first = self._outcome.first_step
        self._outcome.first_step = found.step if first is None else first
        self._outcome.last_step = found.step
        self._captured = []
        self._confirmed = False

    def _sample_hardware(self) -> None:
        """Samples the hardware. Without progress lines, activity of GPUs and ports counts as progress."""
        if self._number == 1 and (blind := self._hardware.blind()):
            self._notify(blind)
        for sample in self._hardware.samples():
            self._activity.add(sample)
            if self._silence.last is None and self._activity.is_busy(sample):
                self._pulse.progress(sample.at)
                self._activity.progress(sample.at)

    def _is_over(self, child: Child) -> bool:
        if self._end_signal:
            child.signal(self._end_signal)
            return True
        return self._ended_elsewhere(child) or self._hangs(child, time.monotonic())

    def _ended_elsewhere(self, child: Child) -> bool:
        end = self._rendezvous.ended_elsewhere(self._number)
        if end is None:
            return False
        now = time.monotonic()
        if end.hang and not self._outcome.captures:
            self._outcome.captures = captures.at_ranks(child.pid, self._options.node)
            self._capture()
        self._settled_at = self._settled_at or now + (0.0 if end.hang else _SETTLE_SECONDS)
        if now < self._settled_at:
            return False
        self._outcome.ended_by = f"{end.node}: {end.why}"
        return True

    def _hangs(self, child: Child, now: float) -> bool:
        """Whether the attempt hangs. Silence may be an evaluation phase, and a presumed loss a false alarm, so all
        ranks must stand still too."""
        presumed = self._suspicion.presumed()
        if presumed and self._confirmed:
            self._captured = captures.at_ranks(child.pid, self._options.node)
            self._give_up(presumed, now, Signs())
            return True
        signs = self._activity.signs(now)
        silent = self._silence.is_too_long(now) or self._work_stopped(signs, now) or self._explained(presumed, now)
        if now < self._next_capture_at or not silent:
            return False
        self._next_capture_at = now + _BETWEEN_CAPTURES_SECONDS
        before, self._captured = self._captured, captures.at_ranks(child.pid, self._options.node)
        if signs.moves or not _all_still(before, self._captured, signs.waiting):
            return False
        self._give_up(presumed, now, signs)
        return True

    def _work_stopped(self, signs: Signs, now: float) -> bool:
        """Whether work stopped, without progress lines: GPUs that were busy only wait, and all ranks are on this
        machine."""
        return self.alone and self._silence.last is None and signs.waiting > 0 and self._pulse.is_too_long(now)

    def _explained(self, presumed: list[Presumed], now: float) -> bool:
        """A shorter silence is enough if hardware was presumed lost before it or during it."""
        usual, last = self._silence.usual, self._silence.last
        if not presumed or usual is None or last is None:
            return False
        timeout = max(self._options.presumed_floor_seconds, self._options.hang_factor * usual)
        return any(one.since >= last - 2 * usual - 1.0 and now - last > timeout for one in presumed)

    def _give_up(self, presumed: list[Presumed], now: float, signs: Signs) -> None:
        outcome = self._outcome
        outcome.captures, outcome.presumed = self._captured, presumed
        silence = self._pulse if self._silence.last is None else self._silence
        outcome.silent_seconds = silence.seconds(now)
        why = f"no progress for {outcome.silent_seconds:.0f} s where {silence.usual or 0.0:.1f} s is usual"
        proof = "the job itself says that a connection is lost" if self._confirmed else "no rank does anything"
        more = [*signs.says, *(one.what for one in presumed)]
        outcome.ended_by = f"{why}, and {proof}" + "".join(f"; {one}" for one in more)
        self._notify(outcome.ended_by)
        self._capture()

    def _capture(self) -> None:
        """Captures evidence from the ranks before they are ended."""
        if self.dumps is not None:
            capture.ask_for_dumps(self.dumps)
        self._outcome.captured = capture.of_ras(self._options.node)


def _all_still(before: list[StackCapture], now: list[StackCapture], waiting: int) -> bool:
    """Whether no rank moved, except ranks that spin while their GPU waits."""
    earlier = {one.rank: one for one in before}
    if not before or earlier.keys() != {one.rank for one in now}:
        return False
    moved = [one for one in now if one.moved_since(earlier[one.rank])]
    return len(moved) <= waiting and all(one.only_spins_since(earlier[one.rank]) for one in moved)


def _wait_for(child: Child, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while child.pump(_BEAT_SECONDS) is None and time.monotonic() < deadline:
        pass
