"""Gateway of a simulated building: sends the plant's readings to the controller."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast.lab.twin.fleet.connection import Connection, ControllerUnreachable

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.plant import FleetPlant

log = logging.getLogger("holdfast.lab.twin.fleet")
EVERY_SECONDS = 0.5
MOST_AT_ONCE = 2_000
OLDEST_SECONDS = 60.0  # readings that wait longer are dropped


class Gateway:
    def __init__(self, plant: "FleetPlant", url: str, token: str, ca_file: str = "") -> None:
        self._plant, self._token = plant, token
        self._connection = Connection(url, ca_file)
        self._trouble = ""

    async def run(self, wall: Callable[[float], float], speed: float) -> None:
        """Runs until cancelled. `wall` converts virtual seconds to the controller's time."""
        cadence = max(self._plant.step_seconds / speed, 1e-3)
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            unsent = self._unsent(wall)
            for first in range(0, len(unsent), MOST_AT_ONCE):
                await self._report({"signals": unsent[first : first + MOST_AT_ONCE], "cadence_seconds": cadence})

    def _unsent(self, wall: Callable[[float], float]) -> list[dict[str, object]]:
        now = time.time()
        aged = [(one, max(0.0, now - wall(one.at))) for one in self._plant.take()]
        return [
            {"subject": one.subject, "name": one.name, "value": one.value, "age_seconds": age}
            for one, age in aged
            if age < OLDEST_SECONDS
        ]

    async def _report(self, ask: dict[str, object]) -> None:
        try:
            status, body = await self._connection.post("/v1/signals", msgspec.json.encode(ask), self._token)
            why = "" if status == 200 else f"signals refused ({status}): {body[:200].decode('utf-8', 'replace')}"
        except ControllerUnreachable as error:
            why = str(error)
        if why and why != self._trouble:
            log.warning("the gateway: %s", why)
        self._trouble = why
