"""Slow ranks and links of 1,000-GPU jobs in virtual time: who is named, how soon, and how often wrongly.

A job steps at the pace of its slowest rank, as the twin's training does: its compute time, its fabric, its checkpoints.
Every rank's every step is noisy; the noise is drawn from real training logs (`../shared/data/training_logs`, or where
HOLDFAST_REAL_DATA points to) and from a made-up one where they are absent. Data stalls of one rank and of all, slow
first steps after a restart. What is measured is the code that the controller runs, window by window.
"""

import argparse
import json
import math
import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from holdfast.fleet.jobs.verdicts import JobVerdicts
from holdfast.fleet.jobs.record import JobRecord
from holdfast.model.health import Health
from holdfast.model.wire.progress import WINDOW_SECONDS, RankWindow
from holdfast.lab.twin.fleet.fabric import FleetFabric, FabricPort
from holdfast.lab.twin.fleet.training import COMPUTE_SECONDS, GRADIENT_BYTES, SAVE_SECONDS, STEPS_BETWEEN

HERE = Path(__file__).parent
RESULT = HERE / "results" / "slow_ranks.json"
LOGS = Path(os.environ.get("HOLDFAST_REAL_DATA") or HERE.parent.parent / "shared" / "data") / "training_logs"
RANKS, PER_NODE = 1_000, 8
NODES = RANKS // PER_NODE
BEFORE_SECONDS, AFTER_SECONDS = 120.0, 80.0
WITHIN_SECONDS = 60.0
SLOWDOWNS = (0.05, 0.1, 0.2, 0.5)
PLACES = ("gpu", "node", "link")
STALLS_AN_HOUR, RESTARTS_AN_HOUR = 2.0, 0.25
Names = frozenset[str]


def noise() -> tuple["np.ndarray[tuple[int], np.dtype[np.float64]]", str]:
    """What single steps took above or below the middle of those around them, as ratios."""
    found: list[float] = []
    for path in sorted(LOGS.glob("*.log")):
        result = re.findall(r"^step:(\d+)/\d+ train_time:(\d+)ms", path.read_text(errors="replace"), re.M)
        ends = {int(step): float(at) for step, at in result}
        steps = [ends[step] - ends[step - 1] for step in sorted(ends) if step - 1 in ends]
        around = [(steps[at - 10 : at + 11], steps[at]) for at in range(10, len(steps) - 10)]
        found += [one / median(near) - 1 for near, one in around]
    if found:
        return np.array(found), f"{len(found)} steps of real logs"
    chance = np.random.default_rng(1)
    return np.concatenate([chance.normal(0, 0.012, 9_900), chance.uniform(0.03, 0.6, 100)]), "made up"


@dataclass
class World:
    """One job. `slow` is a factor per rank, `link` one per link of the ring of nodes."""

    chance: np.random.Generator
    noise: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    now: float = 0.0
    step: int = 0
    session: int = 0
    warm: int = 10
    cut_at: float = WINDOW_SECONDS
    transfer: float = FleetFabric().all_reduce_seconds(
        [FabricPort(f"leaf{node // 16}") for node in range(NODES)], GRADIENT_BYTES
    )
    job: JobVerdicts = field(default_factory=lambda: JobVerdicts(JobRecord("llama", "uid-1")))
    slow: "np.ndarray[tuple[int], np.dtype[np.float64]]" = field(default_factory=lambda: np.ones(RANKS))
    link: "np.ndarray[tuple[int], np.dtype[np.float64]]" = field(default_factory=lambda: np.ones(NODES))

    def __post_init__(self) -> None:
        self._owns: list[np.ndarray] = []
        self._links: list[np.ndarray] = []
        self._seconds = self._data = self._saving = 0.0
        self._rank_data = np.zeros(RANKS)

    def run(self, seconds: float) -> "list[tuple[float, Names]]":
        """Step until then; what the checks named after every window."""
        end, result = self.now + seconds, []
        while self.now < end:
            self._one_step()
            if self.now >= self.cut_at:
                result.append((self.now, self._cut()))
        return result

    def _one_step(self) -> None:
        hour = COMPUTE_SECONDS / 3600
        if self.chance.random() < RESTARTS_AN_HOUR * hour:
            self.now += float(self.chance.uniform(60, 300))
            self.session, self.warm = self.session + 1, 5
            self.step -= self.step % STEPS_BETWEEN
        common = (1 + float(self.chance.choice(self.noise))) * (1.5 if self.warm > 0 else 1.0)
        self.warm -= 1
        own = COMPUTE_SECONDS * common * self.slow * (1 + self.chance.choice(self.noise, RANKS))
        data = np.full(RANKS, 0.02)
        if self.chance.random() < STALLS_AN_HOUR * hour:
            delayed = slice(None) if self.chance.random() < 0.5 else int(self.chance.integers(RANKS))
            data[delayed] += self.chance.uniform(1, 20)
        links = self.transfer / NODES * self.link * (1 + self.chance.choice(self.noise, NODES))
        self.step += 1
        saving = SAVE_SECONDS if self.step % STEPS_BETWEEN == 0 else 0.0
        seconds = float((own + data).max() + links.sum() + saving)
        self.now += seconds
        self._owns.append(own)
        self._links.append(links)
        self._rank_data += data
        self._seconds += seconds
        self._saving += saving

    def _cut(self) -> Names:
        self.cut_at += WINDOW_SECONDS * math.ceil((self.now - self.cut_at + 1e-9) / WINDOW_SECONDS)
        steps = len(self._owns)
        owns = np.sort(np.array(self._owns), axis=0)[(steps - 1) // 2]
        totals = np.array(self._owns).sum(axis=0)
        links = np.sort(np.array(self._links), axis=0)[(steps - 1) // 2]
        for rank in range(RANKS):
            self.job.record.take(f"n{rank // PER_NODE}", self._window(rank, steps, owns, totals, links), self.now)
        self._owns, self._links = [], []
        self._seconds = self._saving = 0.0
        self._rank_data = np.zeros(RANKS)
        self.job.evaluate(self.now, lambda node: [], {})
        rows = [row for verdict in self.job.verdicts for row in verdict.rows]
        return frozenset(row.subject for row in rows if row.health is Health.DEGRADED and row.subject != "job/llama")

    def _window(self, rank: int, steps: int, owns: np.ndarray, totals: np.ndarray, links: np.ndarray) -> RankWindow:
        node = rank // PER_NODE
        shared = {}
        if rank % PER_NODE == 0:  # one rank of a node speaks to the next node's
            shared = {f"ring:{one}": float(links[one]) for one in (node, (node - 1) % NODES)}
        compute, data = float(totals[rank]), float(self._rank_data[rank])
        return RankWindow(
            job="llama",
            owner="uid-1",
            rank=rank,
            world=RANKS,
            session=f"s{self.session}",
            began=0.0,
            at=self.now,
            step=self.step,
            steps=steps,
            seconds=self._seconds,
            data_seconds=data,
            compute_seconds=compute,
            wait_seconds=max(0.0, self._seconds - compute - data - self._saving),
            checkpoint_seconds=self._saving,
            own_seconds=float(owns[rank]),
            split=True,
            gpu=rank % PER_NODE,
            links=shared,
        )


def scenario(world: World, place: str, slowdown: float) -> tuple[float | None, bool]:
    """After how many seconds exactly the guilty were named, and whether anybody else ever was."""
    result = world.run(BEFORE_SECONDS + float(world.chance.uniform(0, 2 * WINDOW_SECONDS)))
    innocent = any(names for _, names in result)
    onset = world.now
    if place == "link":
        which = int(world.chance.integers(NODES))
        world.link[which] *= 1 + slowdown
        guilty = frozenset({f"job/llama/link/ring:{which}"})
    else:
        first = int(world.chance.integers(RANKS)) if place == "gpu" else PER_NODE * int(world.chance.integers(NODES))
        ranks = range(first, first + (1 if place == "gpu" else PER_NODE))
        world.slow[list(ranks)] *= 1 + slowdown
        guilty = frozenset(f"job/llama/rank/{rank}" for rank in ranks)
    result = world.run(AFTER_SECONDS)
    found = next((at - onset for at, names in result if guilty <= names), None)
    return found, innocent or any(names - guilty for _, names in result)


def row(place: str, slowdown: float, runs: list[tuple[float | None, bool]]) -> dict[str, object]:
    hits = [after for after, _ in runs if after is not None and after <= WITHIN_SECONDS]
    others = sum(other for _, other in runs)
    precision = len(hits) / (len(hits) + others) if hits or others else 1.0
    recall = len(hits) / len(runs)
    return {
        "place": place,
        "slowdown": slowdown,
        "runs": len(runs),
        "precision": round(precision, 3),
        "recall_within_60_s": round(recall, 3),
        "f1": round(2 * precision * recall / (precision + recall), 3) if precision + recall else 0.0,
        "median_seconds_to_detect": round(median(hits), 1) if hits else None,
        "slowest_seconds_to_detect": round(max(hits), 1) if hits else None,
    }


def false_alarms(drawn: "np.ndarray[tuple[int], np.dtype[np.float64]]", hours: float, seed: int) -> dict[str, float]:
    """A healthy job. Alarms that follow one another are one; the bound is Poisson's at 95 %."""
    world = World(np.random.default_rng(seed), drawn)
    alarms, before = Counter[str](), frozenset[str]()
    for _, names in world.run(hours * 3600):
        alarms.update(names - before)
        before = names
    count, days = sum(alarms.values()), RANKS * world.now / 86_400
    bound = _poisson_bound(count)
    return {
        "healthy_gpu_days": round(days),
        "false_alarms": count,
        "false_alarms_per_1000_gpu_days": round(1000 * count / days, 2),
        "upper_bound_95": round(1000 * bound / days, 2),
    }


def _poisson_bound(count: int) -> float:
    """The mean at which so few would be seen with 5 %."""
    low, high = 0.0, 10.0 + 3 * count
    for _ in range(60):
        mean = (low + high) / 2
        chance = sum(math.exp(-mean) * mean**one / math.factorial(one) for one in range(count + 1))
        low, high = (mean, high) if chance > 0.05 else (low, mean)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each slowdown at each place")
    parser.add_argument("--healthy-hours", type=float, default=24.0)
    options = parser.parse_args()
    drawn, origin = noise()
    began, rows = time.perf_counter(), []
    for place in PLACES:
        for slowdown in SLOWDOWNS:
            seeds = [1_000 * PLACES.index(place) + 100 * SLOWDOWNS.index(slowdown) + one for one in range(options.runs)]
            runs = [scenario(World(np.random.default_rng(seed), drawn), place, slowdown) for seed in seeds]
            rows.append(row(place, slowdown, runs))
    at_ten = [one for one in rows if one["slowdown"] == 0.1]
    figures = {
        "ranks": RANKS,
        "noise": origin,
        "noise_percentile_99": round(float(np.quantile(drawn, 0.99)), 3),
        "rows": rows,
        "f1_at_10_percent": min(float(str(one["f1"])) for one in at_ten),
        **false_alarms(drawn, options.healthy_hours, 7),
        "minutes": round((time.perf_counter() - began) / 60, 1),
    }
    RESULT.write_text(json.dumps(figures) + "\n")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
