"""Sends notifications of the inbox that are due to the channels of [notifications]."""

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
EVERY_SECONDS = 5.0


async def follow_inbox(service: "ControllerService", notifier: Notifier, outbox: Outbox) -> None:
    """Only the leader sends. What is open when it starts to lead was sent by the one before."""
    leads = False
    while True:
        await asyncio.sleep(EVERY_SECONDS)
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
