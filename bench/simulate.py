"""How fast the simulation is: beside the same model written with SimPy, interleaved, in CPU seconds; the coarse model
alone; and how the time grows from 1,000 to 1,000,000 GPUs (`--growth`, which draws docs/simulate.svg)."""

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from measure import cpu_times, publish, quantile, steal_ratio
from simulate_peer import AskingRules, Peer

from holdfast.economics.reports import plot as plan_plot
from holdfast.economics.planning.chart import PlanChart, ChartLine
from holdfast.economics.studies.rules import RealRules
from holdfast.economics.costs.checkpointing import ettr
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.economics.simulation.aggregated import coarsen, replicas
from holdfast.economics.simulation.fleet import SimulatedFleet
from holdfast.economics.simulation.outcome import SimulationOutcome, simulate
from holdfast.economics.simulation.rules import Rules
from holdfast.economics.simulation.scenario import (
    Checkpoints,
    Cluster,
    Hazard,
    SimulatedJob,
    Repair,
    RestartStages,
    Scenario,
)
from holdfast.model.lifecycle import EventKind, Verb
from holdfast.economics.simulation.spread import fixed

RATE = 0.1729  # Llama 3's interruptions per GPU-year
POLICY = Policy(spares=40, breaker_nodes=10_000, breaker_share=1.0)
LLAMA = Scenario(
    title="16,384 GPUs, a year",
    cluster=Cluster(nodes=2088, days=365),
    jobs=(SimulatedJob(name="one", nodes=2048, checkpoints=Checkpoints(interval=234, write=2.5)),),
    hazards=(Hazard(name="gpu", rate=RATE, swap=0.3),),
    repair=Repair(crews=20),
)
SELDOM = replace(LLAMA, jobs=(replace(LLAMA.jobs[0], checkpoints=Checkpoints(interval=86_400, write=2.5)),))


def rng(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed}/{name}")


def ours(scenario: Scenario, seed: int, policy: Policy = POLICY) -> tuple[float, SimulationOutcome]:
    began = time.process_time()
    outcome = simulate(scenario, RealRules(policy), lambda name: rng(seed, name))
    return time.process_time() - began, outcome


def peer(scenario: Scenario, seed: int, rules: Rules) -> tuple[float, Peer]:
    began = time.process_time()
    found = Peer(scenario, rules, lambda name: rng(seed, name))
    found.run()
    return time.process_time() - began, found


class Replay:
    """What the fleet asks of a clock, for a list of steps."""

    now = 0.0


def lifecycle_alone(scenario: Scenario, seed: int) -> float:
    """CPU seconds of the nodes' steps of one run, replayed without jobs, repairs and an event queue: both sides pay
    them, so no event loop can be faster than this."""
    steps: list[tuple[float, tuple[Any, ...]]] = []
    happen = SimulatedFleet.happen

    def recorded(
        fleet: SimulatedFleet, node: int, kind: EventKind, cause: str = "", job: str = "", spare: bool = False
    ) -> tuple[Verb, ...]:
        steps.append((fleet._clock.now, (node, kind, cause, job, spare)))
        return happen(fleet, node, kind, cause, job, spare)

    with patch.object(SimulatedFleet, "happen", recorded):
        ours(scenario, seed)
    clock: Any = Replay()
    fleet = SimulatedFleet(scenario.cluster, clock, RealRules(POLICY))
    began = time.process_time()
    for clock.now, step in steps:
        fleet.happen(*step)
    return time.process_time() - began


def beside(scenario: Scenario, rounds: int) -> dict[str, float]:
    """Medians of rounds taken in turn; refused if they do not simulate the same. The peer asks the lifecycle at every
    step; the other ratio gives it our memory of the lifecycle's answers too."""
    mine, theirs, ratios, with_memory, most = [], [], [], [], []
    for seed in range(rounds):
        own_seconds, own = ours(scenario, seed)
        peer_seconds, other = peer(scenario, seed, AskingRules(POLICY))
        helped_seconds, helped = peer(scenario, seed, RealRules(POLICY))
        for one in (other, helped):
            refuse_another_model(scenario, own, one)
        mine.append(own.events / own_seconds)
        theirs.append(other.events / peer_seconds)
        ratios.append(peer_seconds / own_seconds)
        with_memory.append(helped_seconds / own_seconds)
        most.append(helped_seconds / lifecycle_alone(scenario, seed))
    return {
        "events": own.events,
        "events_per_cpu_second": round(quantile(mine, 0.5)),
        "simpy_events_per_cpu_second": round(quantile(theirs, 0.5)),
        "times_as_fast": round(quantile(ratios, 0.5), 2),
        "times_as_fast_as_simpy_with_our_memory": round(quantile(with_memory, 0.5), 2),
        "if_all_but_the_lifecycle_took_no_time": round(quantile(most, 0.5), 2),
    }


def refuse_another_model(scenario: Scenario, own: SimulationOutcome, other: Peer) -> None:
    """The same interruptions, the same work done twice and, but for the last cycle, the same number of events."""
    rework = abs(own.ledger.rework / scenario.cluster.gpus_per_node / other.parts["rework"] - 1)
    events = abs(own.events / other.events - 1)
    if own.figures["interruptions"] != other.interruptions or rework > 0.01 or events > 0.001:
        raise SystemExit(f"not the same model: {own} beside {other.parts}, {other.interruptions} interruptions")


def coarse() -> dict[str, float]:
    """16,384 GPUs for a year, a thousand times."""
    import numpy as np

    restart = RestartStages(
        detect=fixed(120), diagnose=fixed(120), reschedule=fixed(120), load=fixed(120), warm_up=fixed(120)
    )
    job = SimulatedJob(name="one", nodes=2048, checkpoints=Checkpoints(interval=1116, write=60), restart=restart)
    model = coarsen(replace(LLAMA, cluster=Cluster(nodes=2048, days=365), jobs=(job,)))
    began, cpu = time.perf_counter(), time.process_time()
    found = replicas(model, 1000, np.random.default_rng(1))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    mean = sum(ledger.share("productive") for ledger, _ in found) / len(found)
    exact = ettr(1116, 60, model.between, 600)
    return {
        "seconds": round(seconds, 2),
        "failures_per_cpu_second": round(sum(failures for _, failures in found) / cpu),
        "from_closed_form": round(abs(mean / exact - 1), 6),
    }


def growth(sizes: list[int]) -> list[dict[str, float]]:
    """A month of jobs of 1,024 GPUs each, with two spares to a hundred nodes."""
    rows = []
    for gpus in sizes:
        nodes = gpus // 8
        spares = max(1, nodes // 50)
        jobs = tuple(
            replace(LLAMA.jobs[0], name=f"job{number}", nodes=min(128, nodes - spares))
            for number in range(max(1, (nodes - spares) // 128))
        )
        scenario = replace(LLAMA, cluster=Cluster(nodes=nodes, days=30), jobs=jobs, repair=Repair())
        seconds, outcome = ours(scenario, 1, replace(POLICY, spares=spares))
        rows.append(
            {"gpus": gpus, "cpu_seconds": round(seconds, 3), "events": outcome.events, "executed": outcome.executed}
        )
    return rows


def draw(rows: list[dict[str, float]], path: Path) -> None:
    points = tuple((row["gpus"], 1e6 * row["cpu_seconds"] / row["gpus"]) for row in rows)
    chart = PlanChart(
        title="A simulated month, device by device, with the real lifecycle",
        across="GPUs",
        up="CPU microseconds per GPU",
        lines=(ChartLine("per GPU", points),),
        log_x=True,
    )
    path.write_text(plan_plot.svg(chart), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--growth", action="store_true")
    asked = parser.parse_args()
    before = cpu_times()
    if asked.growth:
        rows = growth([1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000])
        draw(rows, Path(__file__).parents[1] / "docs" / "simulate.svg")
        publish("simulate_growth", {"rows": rows, "steal_ratio": round(steal_ratio(before, cpu_times()), 3)})
        return
    figures = {
        "per_device": beside(LLAMA, asked.rounds),
        "per_device_checkpoint_a_day": beside(SELDOM, asked.rounds),
        "aggregated": coarse(),
        "rounds": asked.rounds,
    }
    publish("simulate", {**figures, "steal_ratio": round(steal_ratio(before, cpu_times()), 3)})


if __name__ == "__main__":
    main()
