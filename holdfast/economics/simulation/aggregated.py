"""A coarser model: one job that fails at a constant rate, restarts, and writes checkpoints.

It has no nodes, so no spares, repairs or lifecycle. Failures do not depend on the job's state, so the times between
them are independent, and a year takes a few vector operations.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.economics.simulation.scenario import YEAR, Cluster, Effect, Scenario, SimulatedJob
from holdfast.economics.simulation.spread import Spread, SpreadKind
from holdfast.model.ledger import Ledger

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    Vector = NDArray[float64]


@dataclass(frozen=True, slots=True)
class Coarse:
    """The simplified scenario, and the list of the parts that were left out."""

    between: float  # seconds between failures of the job
    job: SimulatedJob
    cluster: Cluster
    left_out: tuple[str, ...]


def coarsen(scenario: Scenario) -> Coarse:
    job = max(scenario.jobs, key=lambda one: one.nodes)
    crashes = [one for one in scenario.hazards if one.effect is Effect.CRASH and one.shape == 1]
    share = job.nodes / scenario.cluster.nodes
    yearly = sum(one.rate * one.times_on_average * scenario.cluster.units(one.on) * share for one in crashes)
    left_out = [f"hazard {one.name}" for one in scenario.hazards if one not in crashes]
    left_out += [f"job {one.name}" for one in scenario.jobs if one is not job]
    left_out += ["planned maintenance"] if scenario.maintenance else []
    left_out += ["copies in memory"] if job.checkpoints.memory_interval else []
    return Coarse(YEAR / yearly if yearly else float("inf"), job, scenario.cluster, (*left_out, "spares and repairs"))


def replicas(coarse: Coarse, number: int, rng: "Generator") -> list[tuple[Ledger, int]]:
    """GPU-seconds of the job, and its interruptions, of this many replicas."""
    return [_replica(coarse, rng) for _ in range(number)]


def _replica(coarse: Coarse, rng: "Generator") -> tuple[Ledger, int]:
    import numpy as np

    end, stages = coarse.cluster.seconds, coarse.job.restart
    failures = int(rng.poisson(end / coarse.between)) if coarse.between < float("inf") else 0
    moments = np.sort(rng.random(failures)) * end
    gaps = np.diff(np.concatenate(([0.0], moments, [end])))
    stopped = _draw(stages.detect, failures + 1, rng) + _draw(stages.diagnose, failures + 1, rng)
    stopped[0] = 0.0  # the first start is not after a failure
    for stage in (stages.reschedule, stages.load, stages.warm_up):
        stopped += _draw(stage, failures + 1, rng)
    restart = np.minimum(gaps, stopped)
    running = gaps - restart
    tau, write = coarse.job.checkpoints.interval, coarse.job.checkpoints.write
    saved = np.floor(running / (tau + write))
    rest = running - saved * (tau + write)
    last = float(rest[-1])  # the last stretch is still unsaved
    gpus = coarse.job.nodes * coarse.cluster.gpus_per_node
    ledger = Ledger(
        productive=gpus * (float(saved.sum()) * tau + min(last, tau)),
        checkpoint=gpus * (float(saved.sum()) * write + max(0.0, last - tau)),
        rework=gpus * (float(rest.sum()) - last),
        restart=gpus * float(restart.sum()),
    )
    return ledger, failures


def _draw(spread: Spread, number: int, rng: "Generator") -> "Vector":
    import numpy as np

    if spread.kind is SpreadKind.EXPONENTIAL:
        return rng.exponential(spread.first, number)
    if spread.kind is SpreadKind.LOGNORMAL:
        return rng.lognormal(np.log(spread.first), spread.second, number)
    if spread.kind is SpreadKind.UNIFORM:
        return rng.uniform(spread.first, spread.second, number)
    return np.full(number, spread.first)
