"""The fleet's clock: in a demo it runs faster than ours, and what is printed must agree with the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Protocol


class Reader(Protocol):
    def get(self, path: str, **query: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class FleetClock:
    began: float = 0.0
    factor: float = 1.0

    def at(self, moment: float) -> float:
        """A moment of the controller's clock, by the fleet's."""
        return self.began + (moment - self.began) * self.factor

    def seconds_since(self, moment: float) -> float:
        return (time() - moment) * self.factor


def fleet_clock(client: Reader) -> FleetClock:
    fleet: Mapping[str, Any] = client.get("/v1/fleet")
    return FleetClock(float(fleet["clock_began"]), float(fleet["time_factor"]))
