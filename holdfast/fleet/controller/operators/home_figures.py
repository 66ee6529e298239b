"""Figures of the home page: a sample every half minute for its charts, and a current one for each request."""

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
FRESH_SECONDS = 1.0  # simultaneous requests share one sample


class HomeFigures:
    def __init__(self, service: "ControllerService", time_factor: float) -> None:
        self.window = FigureWindow(time_factor)
        self._service = service
        self._fresh: FigureSample | None = None
        self._sampling = asyncio.Lock()

    async def run(self) -> None:
        """Samples at intervals, more often in a demo, where time runs faster.

        A standby samples too: it may lead soon.
        """
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            if (taken := await self._sample()) is not None:
                self.window.take(taken)
            await asyncio.sleep(max(SHORTEST_SECONDS, SAMPLE_SECONDS / self.window.time_factor))

    async def now(self) -> Figures:
        """Figures of this moment: the last regular sample may still count a closed incident. This sample is not kept,
        because the window has room only for a day of regular samples."""
        async with self._sampling:
            if self._fresh is None or clock.now() - self._fresh.at > FRESH_SECONDS:
                self._fresh = await self._sample()
            return self.window.figures(self._fresh)

    async def _sample(self) -> FigureSample | None:
        """A sample; None without known nodes."""
        service, board = self._service, self._service.board
        nodes = [life for name in board.views if (life := board.life(name)) is not None]
        if not nodes:
            return None
        incidents = await asyncio.to_thread(service.store.incidents, IncidentState.OPEN, None)
        gpu_hour = service.items.prices.gpu_hour
        return await asyncio.to_thread(sample, clock.now(), nodes, incidents, service.items.gpus, gpu_hour)
