"""What a controller knows of the nodes, and what it is told of them. Without one, nothing is known."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.model.evidence import Evidence


class Fleet(Protocol):
    """Whoever implements it answers also when the controller does not: then with nothing."""

    def unfit(self) -> dict[str, str]:
        """Nodes that are out of service or fail their checks, and why."""

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        """What their agents told since then."""

    def blame(self, nodes: Sequence[str], reason: str) -> None:
        """They are to blame for the end of an attempt: nothing should run there until they are mended."""

    def doubt(self, nodes: Sequence[str], reason: str) -> None:
        """They left without a word: they should be tested before anything runs there."""


class NoFleet:
    def unfit(self) -> dict[str, str]:
        return {}

    def evidence(self, nodes: Sequence[str], since: float) -> list[Evidence]:
        return []

    def blame(self, nodes: Sequence[str], reason: str) -> None:
        pass

    def doubt(self, nodes: Sequence[str], reason: str) -> None:
        pass
