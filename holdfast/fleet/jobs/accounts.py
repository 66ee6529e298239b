"""Ledger of a training job from the windows of one rank: every second is charged to one category."""

from collections import deque
from dataclasses import dataclass, replace
from statistics import quantiles

from holdfast.model.ledger import Ledger
from holdfast.model.wire.progress import RankWindow

STEP_TIMES = 2_160  # number of windows: the usual step time is that of six hours
ENOUGH = 6
SLOW = 1.05  # multiple of the usual step time; time above the usual one is then degraded
MOST_RESTARTS = 1_000
ROUNDING_SECONDS = 0.5  # steps follow each other without a gap, except for small differences of clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCost:
    """Cost of one restart: from the last step before it to the first after it, and the repeated steps."""

    at: float
    down_seconds: float
    from_step: int
    lost_steps: int
    rework_seconds: float = 0.0
    nodes: tuple[str, ...] = ()
    """Nodes of the attempt that died; the next may run on others."""
    attempt: int = -1
    """The attempt that died, from 0. -1: stored by an older version."""


class Accounts:
    """Takes windows in time order. Seconds are those of the whole job; multiplied by its GPUs they are GPU-seconds."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.restarts: deque[RestartCost] = deque(maxlen=MOST_RESTARTS)
        self.began: float | None = None
        self.at = 0.0  # end of the charged time
        self.step = -1  # the last window of this attempt
        self.best_step = -1
        self.attempt = 0
        self.nodes_before: tuple[str, ...] = ()
        self.made_before = -1  # the last step of an earlier attempt: steps up to this one are repeated
        self.step_times: deque[float] = deque(maxlen=STEP_TIMES)

    @property
    def usual_seconds(self) -> float | None:
        """Step time without checkpoint, as the lower quartile of the windows, so that it stays valid while a job is
        slow."""
        if len(self.step_times) < ENOUGH:
            return None
        return quantiles(self.step_times, n=4)[0]

    def take(self, window: RankWindow, attempt: int) -> None:
        """Takes a window of the rank that represents the job; time that another rank reported is not counted twice."""
        if not window.steps:
            return
        begin = window.at - window.seconds
        if self.began is None:
            self.began = self.at = min(window.began, begin)
            self._charge("restart", begin)
            self.attempt = attempt
        elif attempt != self.attempt:
            self._restart(window, begin, attempt)
        else:
            self._charge("unknown" if begin - self.at > ROUNDING_SECONDS else "productive", begin)
        if window.at > self.at:
            self._charge_steps(window)
        self.step = window.step
        self.best_step = max(self.best_step, window.step)

    def _restart(self, window: RankWindow, begin: float, attempt: int) -> None:
        self.attempt = attempt
        self.made_before = self.best_step
        first = window.step - window.steps
        down = max(0.0, begin - self.at)
        self._charge("restart", begin)
        lost = max(0, self.best_step - first)
        self.restarts.append(
            RestartCost(
                at=begin,
                down_seconds=down,
                from_step=first,
                lost_steps=lost,
                nodes=self.nodes_before,
                attempt=attempt - 1,
            )
        )

    def _charge_steps(self, window: RankWindow) -> None:
        seconds = window.at - self.at  # above 0, so the window has seconds too
        share = min(1.0, seconds / window.seconds)
        again = min(window.steps, max(0, self.made_before - (window.step - window.steps)))
        rework = seconds * again / window.steps
        checkpoint = min(seconds - rework, window.checkpoint_seconds * share * (1 - again / window.steps))
        work = seconds - rework - checkpoint
        usual, made = self.usual_seconds, (window.steps - again) * share
        slow = work - usual * made if usual is not None and work > SLOW * usual * made else 0.0
        if made:
            self.step_times.append(work / made)
        for name, part in (("rework", rework), ("checkpoint", checkpoint), ("degraded", slow)):
            self._add(name, part)
        self._add("productive", work - slow)
        self.at = window.at
        if rework and self.restarts:
            last = self.restarts[-1]
            self.restarts[-1] = replace(last, rework_seconds=last.rework_seconds + rework)

    def ledger_until(self, now: float) -> Ledger:
        """The ledger until a moment. Time without a report is unknown."""
        if self.began is None:
            return self.ledger
        return replace(self.ledger, unknown=self.ledger.unknown + max(0.0, now - self.at))

    def _charge(self, name: str, until: float) -> None:
        self._add(name, max(0.0, until - self.at))
        self.at = max(self.at, until)

    def _add(self, name: str, seconds: float) -> None:
        self.ledger = replace(self.ledger, **{name: getattr(self.ledger, name) + seconds})
