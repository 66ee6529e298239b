"""The controller's view of the nodes, and reports to it. Without a controller it is empty."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.model.evidence import Evidence


class FleetClient(Protocol):
    """Every method answers also when the controller does not: then with nothing."""

    def unfit(self) -> dict[str, str]:
        """Nodes that are out of service or fail their checks, and why."""

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        """What their agents reported since then."""

    def blame(self, nodes: Sequence[str], reason: str) -> None:
        """They ended an attempt: nothing should run there until they are repaired."""

    def doubt(self, nodes: Sequence[str], reason: str) -> None:
        """They disappeared without an error: they should be tested before anything runs there."""


class NoFleet:
    def unfit(self) -> dict[str, str]:
        return {}

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        return []

    def blame(self, nodes: Sequence[str], reason: str) -> None:
        pass

    def doubt(self, nodes: Sequence[str], reason: str) -> None:
        pass
