"""The fleet's clock: in a demo it runs faster than ours, and printed times must agree with the page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Protocol

from holdfast.cli.shared.table import ago


class FleetReader(Protocol):
    def get(self, path: str, **query: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class FleetClock:
    began: float = 0.0
    factor: float = 1.0
    read: Callable[[], float] = time

    def at(self, moment: float) -> float:
        """Converts a time of the controller's clock to the fleet's clock."""
        return self.began + (moment - self.began) * self.factor

    def now(self) -> float:
        """The current time of the fleet's clock."""
        return self.at(self.read())

    def seconds_since(self, moment: float) -> float:
        return (self.read() - moment) * self.factor

    def ago(self, moment: float | None) -> str:
        return "never" if moment is None else ago(self.seconds_since(moment), 0.0)


def fleet_clock(client: FleetReader) -> FleetClock:
    return clock_of(client.get("/v1/fleet"))


def clock_of(fleet: Mapping[str, Any]) -> FleetClock:
    """The clock from the answer of `/v1/fleet`; the real clock while the fleet is unknown."""
    return FleetClock(float(fleet.get("clock_began", 0.0)), float(fleet.get("time_factor", 1.0)))
