"""The coarse model: within 0.5 % of the closed form where that holds, and honest about what it leaves out."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast.economics.costs.checkpointing import ettr
from holdfast.economics.simulation.aggregated import coarsen, replicas
from holdfast.economics.simulation.scenario import (
    Checkpoints,
    Cluster,
    Effect,
    Hazard,
    RestartStages,
    Scenario,
    SimulatedJob,
)
from holdfast.economics.simulation.spread import Spread, SpreadKind, fixed

STAGES = RestartStages(
    detect=fixed(200.0), diagnose=fixed(100.0), reschedule=fixed(100.0), load=fixed(100.0), warm_up=fixed(100.0)
)
YEAR = Scenario(
    title="a year",
    cluster=Cluster(nodes=2048, days=365),
    jobs=(SimulatedJob(name="one", nodes=2048, checkpoints=Checkpoints(interval=1116, write=60), restart=STAGES),),
    hazards=(Hazard(name="gpu", rate=0.1729),),
)


@pytest.mark.parametrize(("interval", "write"), [(234.0, 2.5), (1116.0, 60.0), (2389.0, 300.0)])
def test_it_is_within_half_a_percent_of_the_exact_form(interval: float, write: float) -> None:
    job = replace(YEAR.jobs[0], checkpoints=Checkpoints(interval=interval, write=write))
    coarse = coarsen(replace(YEAR, jobs=(job,)))
    found = replicas(coarse, 50, np.random.default_rng(1))
    mean = sum(ledger.share("productive") for ledger, _ in found) / len(found)
    assert mean == pytest.approx(ettr(interval, write, coarse.between, 600), rel=0.005)


def test_every_second_is_accounted_for() -> None:
    stages = replace(STAGES, load=Spread(SpreadKind.LOGNORMAL, 300, 1.5), warm_up=Spread(SpreadKind.EXPONENTIAL, 600))
    job = replace(YEAR.jobs[0], restart=stages)
    for ledger, _ in replicas(coarsen(replace(YEAR, jobs=(job,))), 20, np.random.default_rng(2)):
        assert ledger.total == pytest.approx(16_384 * 365 * 86_400, rel=1e-9)
        assert min(ledger.parts().values()) >= 0


def test_it_says_what_it_leaves_out() -> None:
    slow = Hazard(name="slow", rate=1.0, effect=Effect.SLOWDOWN)
    coarse = coarsen(replace(YEAR, hazards=(*YEAR.hazards, slow)))
    assert "hazard slow" in coarse.left_out and "spares and repairs" in coarse.left_out
    assert coarse.between == coarsen(YEAR).between
