"""Looking at the scheduler every few seconds: jobs that came and went, nodes that became empty."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from holdfast.actions.backend import NoAnswer
from holdfast.actions.slurm import Slurm
from holdfast.api.problem import Problem
from holdfast.controller.turn import Turn, Work
from holdfast.controller.writer import Writer
from holdfast.model.job import Job
from holdfast.model.node_status import NodeStatus

log = logging.getLogger("holdfast.controller")


async def observe_slurm(slurm: Slurm, writer: Writer, seconds: float) -> None:
    """For ever. A scheduler that does not answer is not an empty one: nothing is concluded from silence."""
    while True:
        try:
            statuses = await asyncio.to_thread(slurm.observe)
            jobs = await asyncio.to_thread(slurm.jobs)
            await writer.ask(Work(partial(_observed, statuses, jobs)))
        except NoAnswer as error:
            log.warning("Slurm does not answer: %s", error)
        except Problem as problem:
            log.debug("what Slurm says is not for us now: %s", problem)
        await asyncio.sleep(seconds)


def _observed(statuses: Sequence[NodeStatus], jobs: Sequence[Job], turn: Turn, fresh: Sequence[bool]) -> None:
    turn.decide(turn.fleet.observe(statuses, turn.now))
    turn.store.save_jobs([job for job in jobs if job.nodes])
