"""Routes of training jobs: progress, slow ranks, causes of death, ledger."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from litestar import get
from litestar.params import FromPath

from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.jobs.views import RestartView, TrainingDetail, TrainingsView
from holdfast.model.lifecycle import OUT_OF_SERVICE
from holdfast.model.records import Transition

READ = {"right": "read"}
HOLD_SECONDS = 120.0  # longest delay between a node's failure and its leaving service
BEFORE_SECONDS = 300.0
MOST_STEPS = 10_000
MOST_NOTES = 8
MOST_DEATHS = 20


@get("/v1/trainings", opt=READ, tags=["jobs"])
async def list_trainings(service: ServiceDep) -> TrainingsView:
    """Jobs whose ranks report progress, the most recent report first."""
    return await service.trainings()


@get("/v1/trainings/{name:str}", opt=READ, tags=["jobs"])
async def show_training(service: ServiceDep, name: FromPath[str]) -> TrainingDetail:
    """One job: ledger, exposure, restarts with causes, ranks, and what is slow."""
    job = await service.training(name)
    deaths = job.restarts[-MOST_DEATHS:]
    if not deaths:
        return job
    steps = await asyncio.to_thread(service.store.transitions, _before(deaths[0]), MOST_STEPS)
    earlier = job.restarts[: -len(deaths)]
    began = [earlier[-1].at if earlier else job.began or 0.0, *(one.at for one in deaths)]
    explained = tuple(
        replace(one, notes=_notes(one, start, one.nodes or job.nodes, steps))
        for one, start in zip(deaths, began, strict=False)
    )
    return replace(job, restarts=job.restarts[:-MOST_DEATHS] + explained)


def _before(death: RestartView) -> float:
    return death.at - death.down_seconds - BEFORE_SECONDS


def _notes(death: RestartView, began: float, nodes: Sequence[str], steps: Sequence[Transition]) -> tuple[str, ...]:
    """Nodes of the attempt that failed or left service shortly before its death. "12 s ago" in a reason becomes "12 s
    before", because it counts from the time at which the node left."""
    left = [
        one for one in steps if one.node in nodes and one.after in OUT_OF_SERVICE and one.before not in OUT_OF_SERVICE
    ]
    first = max(began, _before(death))
    failed = {one.node: one for one in steps if one.node in nodes and one.event.failed and first <= one.at <= death.at}
    # A failing node waits for its neighbours before it leaves, so the next attempt may already run.
    near = [one for one in left if first <= one.at <= death.at + (HOLD_SECONDS if one.node in failed else 0.0)]
    notes = [f"{one.node}: {one.reason.replace(' s ago', ' s before')}" for one in near]
    notes += [
        f"{name}: {one.event.cause} fails" for name, one in failed.items() if all(name != its.node for its in near)
    ]
    return tuple(notes)[:MOST_NOTES]


ROUTES = [list_trainings, show_training]
