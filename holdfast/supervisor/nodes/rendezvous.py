"""The supervisors of a job, one per node. Alone on one machine, each question has its answer at once."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.supervisor.nodes.report import Over, Plan, Report


class LeaderLost(Exception):
    """One sentence: whoever decides does not answer any more."""


class Company(Protocol):
    @property
    def leads(self) -> bool:
        """Whether decisions are made here."""

    def assemble(self) -> None:
        """Wait until enough have come."""

    def cast(self, excluded: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """(who takes part in the next attempt, what their commands find in their environment)."""

    def spares(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        """How many stand by beside the members; None where there is only this machine."""

    def announce(self, plan: Plan) -> None: ...

    def over(self, number: int) -> Over | None:
        """Whether somebody else's attempt is over."""

    def tell_over(self, number: int, over: Over) -> None: ...

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        """Members that have not been heard for too long, and for how many seconds."""

    def tell(self, number: int, report: Report) -> None: ...

    def reports(self, number: int, members: Sequence[str]) -> list[Report]:
        """What the others tell of an attempt; whoever is lost tells nothing."""

    def close(self) -> None: ...


class Followed(Company, Protocol):
    """Of whoever does not decide."""

    def next_plan(self, after: int) -> Plan:
        """Wait for what the leader announces after attempt `after`."""


class Alone:
    leads = True

    def __init__(self, node: str) -> None:
        self._node = node

    def assemble(self) -> None:
        pass

    def cast(self, excluded: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        return (self._node,), {}

    def spares(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        return None

    def announce(self, plan: Plan) -> None:
        pass

    def over(self, number: int) -> Over | None:
        return None

    def tell_over(self, number: int, over: Over) -> None:
        pass

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        return {}

    def tell(self, number: int, report: Report) -> None:
        pass

    def reports(self, number: int, members: Sequence[str]) -> list[Report]:
        return []

    def close(self) -> None:
        pass
