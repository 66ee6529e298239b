"""Outcome of one replica: the ledger of paid GPU-seconds, and counters."""

from dataclasses import dataclass
from typing import Any

from holdfast.economics.simulation.job_run import JobRun
from holdfast.economics.simulation.rules import Rules
from holdfast.economics.simulation.scenario import Scenario
from holdfast.economics.simulation.spread import Streams
from holdfast.economics.simulation.world import World
from holdfast.model.ledger import Ledger
from holdfast.model.lifecycle import Stage

OUT = (Stage.DRAINING, Stage.QUARANTINED, Stage.RESETTING, Stage.REMOVED)
MOST_DIFFERENCE = 1e-9  # share of the paid time


class NotConserved(ArithmeticError):
    """The parts do not sum to the paid time: a fault of the simulation, never of the scenario."""


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    ledger: Ledger  # all paid GPU-seconds
    figures: dict[str, float]
    events: int  # state changes of nodes and jobs; a checkpoint counts as two
    executed: int  # actions that the clock executed

    def document(self) -> dict[str, Any]:
        return {"ledger": self.ledger.parts(), **self.figures}


def simulate(scenario: Scenario, rules: Rules, streams: Streams) -> SimulationOutcome:
    """Simulates one replica. The same streams give the same outcome."""
    world = World(scenario, rules, streams)
    world.run()
    ledger = _ledger(world)
    paid = scenario.cluster.gpus * scenario.cluster.seconds
    if abs(ledger.total - paid) > MOST_DIFFERENCE * paid:
        raise NotConserved(f"the ledger holds {ledger.total!r} of {paid!r} paid GPU-seconds")
    events = world.fleet.changes + sum(run.changes + 2 * run.work.saves for run in world.runs)
    return SimulationOutcome(ledger, _figures(world, ledger), events, world.clock.executed)


def _ledger(world: World) -> Ledger:
    parts = dict.fromkeys(Ledger().parts(), 0.0)
    for run in world.runs:
        for name, seconds in _job_parts(run).items():
            parts[name] += seconds
    parts["idle"] += world.scheduler.idle_node_seconds
    gpus = world.scenario.cluster.gpus_per_node
    return Ledger(**{name: seconds * gpus for name, seconds in parts.items()})


def _job_parts(run: JobRun) -> dict[str, float]:
    """Node-seconds by category. Work with undetected corruption counts as unknown."""
    work, nodes = run.work, run.job.nodes
    kept = (work.productive, work.degraded, work.checkpoint)
    unknown = 0.0
    if run.clean:
        clean = min(run.clean.values())
        if sum(clean) < sum(kept):
            unknown, kept = sum(kept) - sum(clean), clean
    productive, degraded, checkpoint = kept
    return {
        "productive": productive * nodes,
        "degraded": degraded * nodes,
        "checkpoint": checkpoint * nodes,
        "rework": work.rework * nodes,
        "unknown": unknown * nodes,
        "restart": run.restart_node_seconds,
        "waiting": run.waiting_node_seconds,
    }


def _figures(world: World, ledger: Ledger) -> dict[str, float]:
    # Wall-clock time of a job from submission to end, times all its nodes. A gang that waits for its last node blocks
    # the others, in whichever category the ledger counts them.
    seconds, gpus = world.scenario.cluster.seconds, world.scenario.cluster.gpus_per_node
    lived = sum(
        run.job.nodes * gpus * max(0.0, (seconds if run.finished is None else run.finished) - run.job.submitted)
        for run in world.runs
    )
    days = world.scenario.cluster.days
    out = sum(world.fleet.seconds[stage] for stage in OUT) / world.scenario.cluster.seconds
    figures = {
        "productive": ledger.share("productive"),
        "ettr": min(1.0, ledger.productive / lived) if lived else 0.0,
        "interruptions": float(sum(run.interruptions for run in world.runs)),
        "interruptions_in_restart": float(sum(run.in_restart for run in world.runs)),
        "planned_stops": float(sum(run.planned_stops for run in world.runs)),
        "failures": float(world.strikes),
        "quarantines": float(world.repairs.quarantines),
        "repairs": float(world.repairs.repairs),
        "held_by_breaker": float(world.repairs.held),
        "missed_by_test": float(world.repairs.missed),
        "nodes_out_mean": out,
        "preemptions": float(world.scheduler.preemptions),
    }
    if len(world.runs) > 1:
        figures |= {f"progress_days/{run.job.name}": run.work.productive / 86_400 for run in world.runs}
    for run in world.runs:
        if run.job.work is not None:
            figures[f"finished/{run.job.name}"] = float(run.finished is not None)
            figures[f"finish_day/{run.job.name}"] = (run.finished or days * 86_400) / 86_400
    return figures
