"""Loops that serve operators: figures of the home page every half minute, and notifications that are due."""

import asyncio
import logging
from typing import TYPE_CHECKING

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.inbox.figures import FigureWindow, sample
from holdfast.fleet.notifications.notifier import Notifier
from holdfast.fleet.notifications.outbox import Outbox
from holdfast.fleet.store import StoreError
from holdfast.model.incident import IncidentState
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

log = logging.getLogger("holdfast.fleet.controller")
SAMPLE_SECONDS = 30.0
FIRST_SECONDS = 2.0
SHORTEST_SECONDS = 3.0
NOTIFY_SECONDS = 5.0


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


async def follow_inbox(service: "ControllerService", notifier: Notifier, outbox: Outbox) -> None:
    """Only the leader sends. What is open when it starts to lead was sent by the one before."""
    leads = False
    while True:
        await asyncio.sleep(NOTIFY_SECONDS)
        if not service.board.leading:
            leads = False
            continue
        try:
            items = await service.inbox()
        except (Problem, StoreError) as error:
            log.warning("the inbox could not be read for notifications: %s", error)
            continue
        now = clock.now()
        if not leads:
            leads = True
            notifier.adopt(items, now)
        outbox.put(notifier.take(items, now))
