"""Jobs: synchronous training at the speed of the slowest rank, checkpoints, deaths and restarts."""

from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from holdfast.lab.twin.plant.fault import Distractor, Faults
from holdfast.lab.twin.plant.layout import JobSpec, Layout
from holdfast.lab.twin.plant.measure import Floats
from holdfast.lab.twin.plant.storage import Storage
from holdfast.model.signal import Event

DATA_SECONDS = 0.1
CLOCKED = 0.85  # share of a step's compute time that depends on the clock
HICCUP_CHANCE = 0.01  # probability per column of a short stall of the whole job


@dataclass
class PlantJob:
    """State of one job."""

    spec: JobSpec
    layout: Layout
    faults: Faults
    distractors: tuple[Distractor, ...]
    random: np.random.Generator  # drawn from in every step
    rng: np.random.Generator  # drawn from when an event happens
    events: list[Event] = field(default_factory=list)
    progress: float = 0.0  # seconds of work at full speed, without lost work
    saved: float = 0.0
    down_until: float = -inf
    went_down: float = -1.0
    lost: float = 0.0
    writing: float = 0.0  # remaining checkpoint time, in seconds at full speed
    since_checkpoint: float = 0.0

    def __post_init__(self) -> None:
        self.gpus = self.layout.gpus_of(self.spec.nodes)
        ranks = len(self.gpus)
        self._own = 1 + 0.006 * self.random.standard_normal(ranks)
        self.compute = np.full(ranks, np.nan)
        self.data = np.full(ranks, np.nan)
        self.step_seconds = self.collective = np.nan
        self.rank_written = np.full(ranks, np.nan)
        self.checkpoint_took = np.nan
        self.throughput = np.nan
        self._wrote_for = 0.0
        self._next_death = self._draw_death(self.spec.start)
        self.rank_faults = self._find_rank_faults()

    @property
    def subject(self) -> str:
        return f"job/{self.spec.name}"

    def _draw_death(self, now: float) -> float:
        if self.spec.mtbf == inf:
            return inf
        return now + self.spec.mtbf * float(self.rng.uniform(0.6, 1.4))

    def _find_rank_faults(self) -> list[tuple[int, int]]:
        prefix = f"{self.subject}/rank/"
        return [
            (number, int(fault.subject.removeprefix(prefix)))
            for number, fault in enumerate(self.faults.all)
            if fault.kind == "job.rank_slow" and fault.subject.startswith(prefix)
        ]

    def running(self, now: float) -> bool:
        """Whether the job runs. A job with start 0 has been running before."""
        return (self.spec.start <= max(now, 0.0)) and now < self.spec.end

    def interval(self, now: float) -> float:
        """Seconds between checkpoints; a bad setting for the job's failure rate may replace the usual one."""
        best = sqrt(2 * self.spec.checkpoint_seconds * min(self.spec.mtbf, 24 * 3600.0))
        for fault in self.faults.all:
            if fault.subject == self.subject and fault.level(now) > 0:
                if fault.kind == "schedule.cadence_long":
                    return best * fault.magnitude
                if fault.kind == "schedule.cadence_short":
                    return best / fault.magnitude
        return self.spec.checkpoint_interval

    def fail(self, now: float, reason: str, recovery: float | None = None) -> None:
        if now < self.down_until or not self.running(now):
            return
        self.lost = self.progress - self.saved
        self.progress = self.saved
        self.went_down = now
        self.writing = 0.0
        usual = self.spec.restart_seconds * float(self.rng.uniform(0.9, 1.1))
        self.down_until = now + (usual if recovery is None else recovery)
        self.events.append(
            Event(kind="job_failed", at=now, text=f"{self.spec.name} died: {reason}", subject=self.subject,
                  detail={"reason": reason})
        )  # fmt: skip

    def step(self, now: float, seconds: float, clock_share: Floats, slowdown: float, storage: Storage) -> None:
        """Advances the job by some seconds. It draws the same number of random numbers whatever happens."""
        noise = self.random.standard_normal(len(self.gpus))
        hiccup, jitter = float(self.random.random()), float(self.random.standard_normal())
        if not self.running(now):
            self._silent(np.nan)
            return
        if now >= self._next_death:
            self.fail(now, "a failure")
            self._next_death = self._draw_death(now)
        if now < self.down_until:
            self._silent(0.0)
            return
        if self.went_down >= 0:
            self._back(now)
        busy = self._write(now, seconds, storage)
        if busy >= seconds:
            self._silent(np.nan)
            return
        self._compute(now, clock_share, slowdown, noise, hiccup, jitter)
        worked = (seconds - busy) * self.throughput
        self.progress += worked
        self.since_checkpoint += seconds - busy
        if self.since_checkpoint >= self.interval(now) and self.writing <= 0:
            self.writing, self._wrote_for = self.spec.checkpoint_seconds, 0.0

    def _silent(self, throughput: float) -> None:
        self.compute[:] = np.nan
        self.data[:] = np.nan
        self.step_seconds = self.collective = np.nan
        self.throughput = throughput

    def _back(self, now: float) -> None:
        took = now - self.went_down
        self.events.append(
            Event(kind="job_restarted", at=now, text=f"{self.spec.name} is back after {took:.0f} s",
                  subject=self.subject, detail={"recovery_seconds": took, "lost_seconds": self.lost})
        )  # fmt: skip
        self.went_down, self.since_checkpoint = -1.0, 0.0

    def _write(self, now: float, seconds: float, storage: Storage) -> float:
        """Seconds of this step that a checkpoint takes."""
        if self.writing <= 0:
            return 0.0
        slow = storage.writing_slowly(self.spec.nodes)
        worst = max(slow.values(), default=1.0)
        rate = storage.write(self.spec, len(self.gpus)) / worst
        needs = self.writing / rate
        used = min(seconds, needs)
        self._wrote_for += used
        self.writing -= used * rate
        if self.writing <= 1e-9:
            self._written(slow, worst)
        return used

    def _written(self, slow: dict[int, float], worst: float) -> None:
        self.writing, self.since_checkpoint, self.saved = 0.0, 0.0, self.progress
        spread = np.abs(1 - 0.04 * np.abs(self.rng.standard_normal(len(self.gpus))))
        self.checkpoint_took = self._wrote_for
        self.rank_written = self._wrote_for / worst * spread
        for node, times in slow.items():
            self.rank_written[self.layout.node_of_gpu[self.gpus] == node] *= times

    def _compute(
        self, now: float, clock_share: Floats, slowdown: float, noise: Floats, hiccup: float, jitter: float
    ) -> None:
        spec = self.spec
        clocked = 1 - CLOCKED + CLOCKED / clock_share[self.gpus]
        self.compute = spec.compute_seconds * self._own * clocked * (1 + 0.004 * noise)
        for number, rank in self.rank_faults:
            self.compute[rank] *= 1 + self.faults.all[number].strength(now)
        self.data = DATA_SECONDS * (1 + 0.1 * np.abs(noise))
        extra = 0.15 * spec.compute_seconds * (hiccup < HICCUP_CHANCE)
        for one in self.distractors:
            if one.kind == "slow_steps" and one.subject == self.subject and one.active(now):
                extra += one.magnitude * spec.compute_seconds
        self.data = self.data + extra
        self.collective = spec.collective_seconds * slowdown * (1 + 0.02 * jitter)
        self.step_seconds = float((self.compute + self.data).max()) + self.collective
        usual = spec.compute_seconds * 1.018 + DATA_SECONDS * 1.15 + spec.collective_seconds
        self.throughput = usual / self.step_seconds

    @property
    def wait(self) -> Floats:
        """Time until the last rank arrives, for each rank."""
        spent: Floats = self.compute + self.data
        left: Floats = spent.max() - spent
        return left


def busy_share(run: PlantJob, now: float) -> float:
    """Utilization of a job's GPUs as the driver reports it: waiting in a collective counts as busy."""
    if not run.running(now):
        return 0.0
    if now < run.down_until:
        return 0.02
    if run.writing > 0:
        return 0.35
    lighter = sum(
        one.magnitude for one in run.distractors
        if one.kind == "load_change" and one.subject == run.subject and one.active(now)
    )  # fmt: skip
    return 0.97 * (1 - lighter)


def working_share(run: PlantJob) -> Floats:
    """Load of each GPU relative to a usual step: waiting ranks draw less power."""
    if np.isnan(run.step_seconds):
        return np.ones(len(run.gpus))
    spec = run.spec
    usual = spec.compute_seconds / (spec.compute_seconds + DATA_SECONDS + spec.collective_seconds)
    return np.clip(run.compute / run.step_seconds / usual, 0.3, 1.05)
