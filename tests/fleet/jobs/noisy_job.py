"""A simulated job whose steps are as uneven as those of real ones: bursts of loading, saves, evaluations, warm-up."""

import random
from dataclasses import dataclass, field

from holdfast.fleet.jobs.record import JobRecord
from holdfast.fleet.jobs.verdicts import JobVerdicts
from holdfast.model.health import Health
from holdfast.model.wire.progress import WINDOW_SECONDS, RankWindow

PER_NODE = 8


@dataclass(frozen=True)
class Unevenness:
    compute_seconds: float = 0.5  # of a step
    jitter: float = 0.05  # of each rank and step
    drift: float = 0.0  # of all ranks together, over minutes
    load_every: int = 0  # steps between refills of the data loader
    load_seconds: float = 0.0
    save_every: int = 0
    save_seconds: float = 0.0
    evaluate_every: int = 0
    evaluate_seconds: float = 0.0
    warm_up_steps: int = 0  # five times as long: compilation, caches
    lengths: tuple[float, ...] = (1.0,)  # of batches, drawn at each step for all ranks
    own_lengths: bool = False  # drawn by each rank for itself


@dataclass
class Totals:
    """Of one rank since its last report."""

    steps: int = 0
    seconds: float = 0.0
    data: float = 0.0
    wait: float = 0.0
    saving: float = 0.0
    own: list[float] = field(default_factory=list)


class NoisyJob:
    def __init__(self, how: Unevenness, world: int, seed: int) -> None:
        self.how, self.world = how, world
        self.rng = random.Random(seed)
        self.record = JobRecord("llama", "uid-1")
        self.checks = JobVerdicts(self.record)
        self.now, self.step, self._reported = 1000.0, 0, 1000.0
        self._totals = [Totals() for _ in range(world)]
        self._drift = 0.0
        self.reported: list[tuple[float, str]] = []  # when, and what was called slow

    def run(self, seconds: float, slow: int = -1, ratio: float = 1.0, all_ratio: float = 1.0) -> "NoisyJob":
        until = self.now + seconds
        while self.now < until:
            self._make_step(slow, ratio, all_ratio)
            while self.now - self._reported >= WINDOW_SECONDS:
                self._reported += WINDOW_SECONDS
                self._report()
        return self

    def _make_step(self, slow: int, ratio: float, all_ratio: float) -> None:
        how, rng = self.how, self.rng
        self.step += 1
        self._drift = 0.98 * self._drift + rng.gauss(0.0, how.drift * 0.2)
        length = rng.choice(how.lengths)
        usual = (
            how.compute_seconds * all_ratio * max(0.2, 1 + self._drift) * (5 if self.step <= how.warm_up_steps else 1)
        )
        own = [
            usual
            * (rng.choice(how.lengths) if how.own_lengths else length)
            * (ratio if rank == slow else 1.0)
            * max(0.5, rng.gauss(1.0, how.jitter))
            for rank in range(self.world)
        ]
        data = how.load_seconds * rng.uniform(0.5, 1.5) if how.load_every and self.step % how.load_every == 0 else 0.0
        if how.evaluate_every and self.step % how.evaluate_every == 0:
            data += how.evaluate_seconds
        saving = how.save_seconds if how.save_every and self.step % how.save_every == 0 else 0.0
        total = max(own) + 0.05 * how.compute_seconds
        self.now += data + total + saving
        for mine, compute in zip(self._totals, own, strict=True):
            mine.steps += 1
            mine.seconds += data + total + saving
            mine.data += data
            mine.wait += total - compute
            mine.saving += saving
            mine.own.append(compute)

    def _report(self) -> None:
        for rank, mine in enumerate(self._totals):
            own = sorted(mine.own)[len(mine.own) // 2] if mine.own else 0.0
            window = RankWindow(
                job="llama", owner="uid-1", rank=rank, world=self.world, session=f"s{rank}", began=1000.0,
                at=self._reported, step=self.step, steps=mine.steps, seconds=mine.seconds, data_seconds=mine.data,
                wait_seconds=mine.wait, checkpoint_seconds=mine.saving, own_seconds=own, split=True,
                gpu=rank % PER_NODE,
            )  # fmt: skip
            self.record.take(f"n{rank // PER_NODE}", window, self._reported)
        self._totals = [Totals() for _ in range(self.world)]
        self.checks.evaluate(self._reported, lambda node: [], {}, lambda node, gpu: "")
        for verdict in self.checks.verdicts:
            for row in verdict.rows:
                if row.health is Health.DEGRADED:
                    self.reported.append((self._reported, row.subject))
