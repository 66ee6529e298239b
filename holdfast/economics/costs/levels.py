"""Checkpoints on several levels: memory for frequent small failures, storage for rare large ones.

First order, as for a single level: sqrt(2 d lambda) each, plus the restarts. Trust it while the waste is below 25 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf, prod, sqrt

from holdfast.economics.costs.checkpointing import TRUSTED_LOSS
from holdfast.economics.costs.feasible import NoProgress, not_negative, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of storage: the cost of a write, and the rate of failures that need this level or a higher one."""

    name: str
    write_seconds: float
    failures_per_second: float
    restart_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every level's interval; each is a whole multiple of the one below it."""

    intervals: dict[str, float]
    multiples: tuple[int, ...]  # in intervals of the level below; 1 for the first
    waste: float  # share of time lost to writes, repeated work and restarts
    unnested: float  # the waste without nesting; the difference is the cost of nesting
    valid: bool


def single_waste(level: Level) -> float:
    """The waste of one level at its best interval sqrt(2 d / lambda)."""
    positive("write time", level.write_seconds)
    not_negative("failure rate", level.failures_per_second)
    return sqrt(2 * level.write_seconds * level.failures_per_second) + (
        level.failures_per_second * level.restart_seconds
    )


def schedule(levels: Sequence[Level]) -> Schedule:
    """The best nested schedule of levels, in order of cost, the cheapest first.

    With multiples K_i of the first interval t, waste = A/t + B t/2 + C, A = sum d_i/K_i, B = sum lambda_i K_i;
    so t = sqrt(2 A/B), and only the whole numbers are searched, around the free optimum.
    """
    for level in levels:
        positive(f"{level.name}: write time", level.write_seconds)
        positive(f"{level.name}: failure rate", level.failures_per_second)
    free = [sqrt(2 * level.write_seconds / level.failures_per_second) for level in levels]
    around = [range(1, 2), *(_near(above / below) for below, above in pairwise(free))]
    best: tuple[float, float, tuple[int, ...]] = (inf, 0.0, ())
    for multiples in product(*around):
        reach = [prod(multiples[: i + 1]) for i in range(len(levels))]
        a = sum(level.write_seconds / k for level, k in zip(levels, reach, strict=True))
        b = sum(level.failures_per_second * k for level, k in zip(levels, reach, strict=True))
        best = min(best, (sqrt(2 * a * b), sqrt(2 * a / b), multiples))
    restarts = sum(level.failures_per_second * level.restart_seconds for level in levels)
    waste = best[0] + restarts
    if waste >= 1:
        raise NoProgress(
            f"no progress is possible: writes, repeated work and restarts would take {100 * waste:.0f} % of time"
        )
    reach = [prod(best[2][: i + 1]) for i in range(len(levels))]
    intervals = {level.name: best[1] * k for level, k in zip(levels, reach, strict=True)}
    return Schedule(intervals, best[2], waste, sum(map(single_waste, levels)), waste < TRUSTED_LOSS)


def _near(ratio: float) -> range:
    """Whole numbers around a ratio, at least 1: no level is written more often than the level below."""
    middle = max(1, round(ratio))
    return range(max(1, middle - 2), middle + 3)


@dataclass(frozen=True, slots=True)
class Tiers:
    """Memory in front of storage, compared with storage alone."""

    with_memory: float  # share of time lost
    storage_only: float
    schedule: Schedule

    @property
    def memory_wins(self) -> bool:
        return self.with_memory < self.storage_only


def memory_or_storage(memory: Level, storage: Level, memory_overhead: float = 0.0) -> Tiers:
    """Memory wins if sqrt(2 d_m l1) + sqrt(2 d_s l2) + overhead stays below sqrt(2 d_s (l1+l2)), restarts included.

    `memory` recovers failures that leave a copy in memory, `storage` all others.
    """
    plan = schedule([memory, storage])
    alone = Level(
        name=storage.name,
        write_seconds=storage.write_seconds,
        failures_per_second=memory.failures_per_second + storage.failures_per_second,
        restart_seconds=storage.restart_seconds,
    )
    return Tiers(plan.waste + memory_overhead, single_waste(alone), plan)


def storage_write_seconds_for(target: float, memory: Level, storage: Level) -> float:
    """The longest storage write that lets a run with a memory tier reach the target. First order."""
    left = 1 - target - single_waste(memory) - storage.failures_per_second * storage.restart_seconds
    if left <= 0:
        raise NoProgress(
            f"no storage is fast enough for {100 * target:.1f} %: the memory tier and the restarts use it all up"
        )
    return left**2 / (2 * storage.failures_per_second)
