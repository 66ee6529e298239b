"""Samples the home page figures every half minute."""

import asyncio
from typing import TYPE_CHECKING

from holdfast.fleet.inbox.figures import FigureWindow, sample
from holdfast.model.incident import IncidentState
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

SAMPLE_SECONDS = 30.0
FIRST_SECONDS = 2.0
SHORTEST_SECONDS = 3.0


async def sample_figures(service: "ControllerService", window: FigureWindow) -> None:
    """In a demo, where time runs faster, more often. Also on a standby: it may have to answer soon."""
    await asyncio.sleep(FIRST_SECONDS)
    while True:
        board = service.board
        nodes = [life for name in board.views if (life := board.life(name)) is not None]
        if nodes:
            incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
            gpu_hour = service.items.prices.gpu_hour
            window.take(await asyncio.to_thread(sample, clock.now(), nodes, incidents, service.items.gpus, gpu_hour))
        await asyncio.sleep(max(SHORTEST_SECONDS, SAMPLE_SECONDS / window.time_factor))
