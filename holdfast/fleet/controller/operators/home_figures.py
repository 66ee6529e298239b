"""Figures of the home page: a sample every half minute for its charts, and one of the moment for who asks."""

import asyncio
from typing import TYPE_CHECKING

from holdfast.fleet.inbox.figures import Figures, FigureSample, FigureWindow, sample
from holdfast.model.incident import IncidentState
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

SAMPLE_SECONDS = 30.0
FIRST_SECONDS = 2.0
SHORTEST_SECONDS = 3.0
FRESH_SECONDS = 1.0  # many who ask at once share one sample


class HomeFigures:
    def __init__(self, service: "ControllerService", time_factor: float) -> None:
        self.window = FigureWindow(time_factor)
        self._service = service
        self._fresh: FigureSample | None = None
        self._sampling = asyncio.Lock()

    async def run(self) -> None:
        """In a demo, where time runs faster, more often. Also on a standby: it may have to answer soon."""
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            if (taken := await self._sample()) is not None:
                self.window.take(taken)
            await asyncio.sleep(max(SHORTEST_SECONDS, SAMPLE_SECONDS / self.window.time_factor))

    async def now(self) -> Figures:
        """Of this moment: with the last sample alone, an incident that is over would still be counted. What is sampled
        here is not kept: the window has room for a day of regular samples."""
        async with self._sampling:
            if self._fresh is None or clock.now() - self._fresh.at > FRESH_SECONDS:
                self._fresh = await self._sample()
            return self.window.figures(self._fresh)

    async def _sample(self) -> FigureSample | None:
        """None where no node is known."""
        service, board = self._service, self._service.board
        nodes = [life for name in board.views if (life := board.life(name)) is not None]
        if not nodes:
            return None
        incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
        gpu_hour = service.items.prices.gpu_hour
        return await asyncio.to_thread(sample, clock.now(), nodes, incidents, service.items.gpus, gpu_hour)
