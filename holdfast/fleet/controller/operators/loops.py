"""The loop that sends notifications that are due."""

import asyncio
import logging
from typing import TYPE_CHECKING

from holdfast.fleet.api.problem import Problem
from holdfast.fleet.notifications.notifier import Notifier
from holdfast.fleet.notifications.outbox import Outbox
from holdfast.fleet.store import StoreError
from holdfast.runtime import clock

if TYPE_CHECKING:
    from holdfast.fleet.controller.service import ControllerService

log = logging.getLogger("holdfast.fleet.controller")
NOTIFY_SECONDS = 5.0


async def follow_inbox(service: "ControllerService", notifier: Notifier, outbox: Outbox) -> None:
    """Only the leader sends. Items that are open when it starts to lead were sent by its predecessor."""
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
