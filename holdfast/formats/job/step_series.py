"""Finds loss spikes, NaN and slowdowns in the training steps of one log, and measures progress."""

import math
from bisect import bisect_right
from collections import deque
from statistics import median
from typing import NamedTuple

from holdfast.formats.job.training_steps import TrainingStep

KEPT = 4096
_RECENT = 64
_FEW = 10
_EVERY = 8  # the limit is computed again after this many steps
_FEW_TIMES = 6
_SURE = 3  # steps in a row that confirm a jump
_NORM_FACTOR = 10.0


class SeriesFinding(NamedTuple):
    code: str  # nan, spike, norm, slow
    first: TrainingStep
    steps: int  # number of steps that show it
    before: float  # usual value before it
    value: float
    to_the_end: bool  # the values never returned to usual


class StepSeries:
    def __init__(self) -> None:
        self.count = 0
        self._kept: list[tuple[int, int]] = []  # (line, step) of every `_stride`th step
        self._stride = 1
        self.last: TrainingStep | None = None
        self.first: TrainingStep | None = None
        self._nan = _Run("nan")
        self._spike = _Run("spike")
        self._losses: deque[float] = deque(maxlen=_RECENT)
        self._usual = 0.0
        self._limit = math.inf
        self._since_limit = 0
        self._step_times = StepTimes()
        self._norms: deque[float] = deque(maxlen=_RECENT)
        self._norm = _Run("norm")

    def add(self, step: TrainingStep) -> None:
        if step.step is None and self.last is not None and self.last.step is not None:
            step = step._replace(step=self.last.step)
        self.first = self.first or step
        self.last = step
        if self.count % self._stride == 0:
            self._keep(step)
        self.count += 1
        if step.loss is not None or step.norm_is_nan:
            self._judge_loss(step)
        if step.seconds is not None:
            self._step_times.add(step)
        if step.norm is not None:
            self._judge_norm(step, step.norm)

    def _keep(self, step: TrainingStep) -> None:
        self._kept.append((step.line, step.step or 0))
        if len(self._kept) >= KEPT:
            self._kept = self._kept[::2]
            self._stride *= 2

    def steps_after(self, line: int) -> int:
        """Number of steps after a line that continue the run, until a restart."""
        place = bisect_right(self._kept, (line, 1 << 62))
        before = self._kept[place - 1][1] if place else -1
        going_on = 0
        for _, step in self._kept[place:]:
            if step < before:
                break
            going_on += 1
        return going_on * self._stride

    def repeats(self, line: int, later: int) -> bool:
        """Whether the run restarted between two lines and reached the same step again."""
        between = bisect_right(self._kept, (later, 1 << 62)) - bisect_right(self._kept, (line, 1 << 62))
        return between > 0 and self.step_before(line) == self.step_before(later)

    def step_before(self, line: int) -> int | None:
        place = bisect_right(self._kept, (line, 1 << 62))
        return self._kept[place - 1][1] if place else None

    def _judge_loss(self, step: TrainingStep) -> None:
        loss = step.loss if step.loss is not None else 0.0
        if not math.isfinite(loss) or step.norm_is_nan:
            self._nan.update(step, True, self._usual, loss)
            return
        self._nan.update(step, False, 0.0, loss)
        jumped = loss > self._limit
        self._spike.update(step, jumped, self._usual, loss)
        if not jumped or self._spike.steps > _RECENT:
            self._losses.append(loss)
            self._since_limit += 1
            if self._since_limit >= _EVERY or len(self._losses) <= _FEW:
                self._set_limit()

    def _judge_norm(self, step: TrainingStep, norm: float) -> None:
        """Detects gradients far above those of the last steps. Clipping hides one such step, not several."""
        far = len(self._norms) >= _FEW and norm > 2 * max(self._norms)  # the median is expensive and rarely needed
        usual = median(self._norms) if far else 0.0
        jumped = usual > 0 and norm > _NORM_FACTOR * usual
        self._norm.update(step, jumped, usual, norm)
        if not jumped:
            self._norms.append(norm)

    def _set_limit(self) -> None:
        """Sets the loss above which a step is a jump: well above the recent median and the noise around it."""
        self._since_limit = 0
        if len(self._losses) < _SURE:
            return
        self._usual = median(self._losses)
        spread = median(abs(one - self._usual) for one in self._losses)
        factor = 1.5 if len(self._losses) >= _FEW else 2.0
        self._limit = max(factor * self._usual, self._usual + max(10 * spread, 0.2)) if self._usual > 0 else math.inf

    def findings(self) -> list[SeriesFinding]:
        found = [
            self._not_a_number(),
            self._spike.finding(_SURE),
            self._norm.finding(_SURE),
            self._step_times.finding(),
        ]
        return [one for one in found if one]

    def _not_a_number(self) -> SeriesFinding | None:
        """A NaN that lasts. A gradient norm that is finite again soon was a step that mixed precision skipped."""
        found = self._nan.finding(1)
        skipped = found and not found.to_the_end and found.steps < _SURE and math.isfinite(found.value)
        return None if skipped else found


class _Run:
    """Consecutive steps with the same finding; the longest series is reported."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._now: SeriesFinding | None = None
        self._best: SeriesFinding | None = None
        self._misses = 0

    @property
    def steps(self) -> int:
        return self._now.steps if self._now else 0

    def update(self, step: TrainingStep, shows: bool, usual: float, value: float) -> None:
        if shows and self._now:
            self._now = self._now._replace(steps=self._now.steps + 1)
            self._misses = 0
        elif shows:
            self._now, self._misses = SeriesFinding(self._code, step, 1, usual, value, True), 0
        elif self._now:
            self._misses += 1
            if self._misses >= _SURE:
                self._end()

    def _end(self) -> None:
        if self._now and (self._best is None or self._now.steps > self._best.steps):
            self._best = self._now._replace(to_the_end=False)
        self._now = None

    def finding(self, least: int) -> SeriesFinding | None:
        last = self._now._replace(to_the_end=self._misses == 0) if self._now else None
        both = [one for one in (self._best, last) if one and one.steps >= least]
        return max(both, key=lambda one: (one.to_the_end, one.steps), default=None)


class StepTimes:
    """Detects slowdowns in windows of steps: two windows in a row well above the usual time before them."""

    WINDOW = 20
    FACTOR = 1.35
    LEAST = 1.04  # the smallest slowdown that is reported, for runs with very even steps
    NOISE = 8.0
    QUIET_WINDOWS = 3

    def __init__(self) -> None:
        self._window: list[TrainingStep] = []
        self._medians: deque[float] = deque(maxlen=_RECENT)
        self._slow: SeriesFinding | None = None
        self._slow_windows = 0
        self._early: list[TrainingStep] = []  # the steps of a log that is too short for windows
        self._spreads: deque[float] = deque(maxlen=_RECENT)  # relative spread of each usual window

    def add(self, step: TrainingStep) -> None:
        if len(self._early) < 3 * self.WINDOW:
            self._early.append(step)
        self._window.append(step)
        if len(self._window) < self.WINDOW:
            return
        usual_now = median(one.seconds or 0.0 for one in self._window)
        usual = median(self._medians) if self._medians else 0.0
        if self._medians and usual_now > self._limit() * usual:
            self._slow_windows += 1
            first = self._slow.first if self._slow else self._window[0]
            self._slow = SeriesFinding("slow", first, self._slow_windows * self.WINDOW, usual, usual_now, True)
        else:
            self._medians.append(usual_now)
            self._spreads.append(
                median(abs((one.seconds or 0.0) - usual_now) for one in self._window) / (usual_now or 1.0)
            )
            if self._slow and self._slow_windows < 2:
                self._slow = None
            elif self._slow:
                self._slow = self._slow._replace(to_the_end=False)
            self._slow_windows = 0
        self._window = []

    def _limit(self) -> float:
        """The factor above which a window is slow: from 1.04 for even steps to 1.35 for uneven or few ones."""
        if len(self._medians) < self.QUIET_WINDOWS:
            return self.FACTOR
        drift = (max(self._medians) - min(self._medians)) / (median(self._medians) or 1.0)
        noise = max(self.NOISE * median(self._spreads), 2 * drift)
        return min(max(self.LEAST, 1.0 + noise), self.FACTOR)

    def finding(self) -> SeriesFinding | None:
        if len(self._early) < 3 * self.WINDOW:
            return self._clean_cut()
        return self._slow if self._slow and self._slow.steps >= 2 * self.WINDOW else None

    def _clean_cut(self) -> SeriesFinding | None:
        """A slowdown in a short log: from one step on, all are slower than any before (but the very first)."""
        times = [one.seconds or 0.0 for one in self._early[1:]]
        numbers = [one.step or 0 for one in self._early]
        if numbers != sorted(numbers):  # a second progress bar (evaluation), or a restart
            return None
        for cut in range(_FEW_TIMES, len(times) - _FEW_TIMES + 1):
            before, after = times[:cut], times[cut:]
            even = max(before) <= self.LEAST * min(before)
            if min(after) > (self.LEAST if even and cut >= _FEW and len(after) >= _FEW else self.FACTOR) * max(before):
                first = self._early[1 + cut]
                return SeriesFinding("slow", first, len(after), median(before), median(after), True)
        return None
