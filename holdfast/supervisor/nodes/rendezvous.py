"""Rendezvous protocol of supervisors, one per node. With one node it is local."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.supervisor.nodes.report import AttemptEnd, AttemptPlan, AttemptReport


class LeaderLost(Exception):
    """The leader is lost; the supervisors cannot coordinate any more."""


@dataclass(frozen=True, slots=True)
class AttemptMembers:
    """The nodes of the next attempt in rank order, and the address of the rendezvous."""

    names: tuple[str, ...]
    master_host: str = ""
    master_port: int = 0


class Rendezvous(Protocol):
    @property
    def leads(self) -> bool:
        """Whether decisions are made here."""

    def assemble(self) -> None:
        """Waits until enough nodes have joined."""

    def select_members(self, excluded: Sequence[str]) -> AttemptMembers: ...

    def can_lose(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        """Number of members that the job can lose: spares and members above the minimum. None with one node."""

    def announce(self, plan: AttemptPlan) -> None: ...

    def ended_elsewhere(self, number: int) -> AttemptEnd | None: ...

    def announce_end(self, number: int, end: AttemptEnd) -> None: ...

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        """Members whose heartbeat is overdue, and for how many seconds."""

    def send_report(self, number: int, report: AttemptReport) -> None: ...

    def reports(self, number: int, members: Sequence[str]) -> list[AttemptReport]:
        """The other nodes' reports of an attempt. A lost node sends none."""

    def close(self) -> None: ...


class FollowerRendezvous(Rendezvous, Protocol):
    def next_plan(self, after: int) -> AttemptPlan:
        """Wait for the leader's plan after attempt `after`."""


class SingleNode:
    leads = True

    def __init__(self, node: str) -> None:
        self._node = node

    def assemble(self) -> None:
        pass

    def select_members(self, excluded: Sequence[str]) -> AttemptMembers:
        return AttemptMembers((self._node,))

    def can_lose(self, excluded: Sequence[str], members: Sequence[str]) -> int | None:
        return None

    def announce(self, plan: AttemptPlan) -> None:
        pass

    def ended_elsewhere(self, number: int) -> AttemptEnd | None:
        return None

    def announce_end(self, number: int, end: AttemptEnd) -> None:
        pass

    def lost(self, members: Sequence[str]) -> dict[str, float]:
        return {}

    def send_report(self, number: int, report: AttemptReport) -> None:
        pass

    def reports(self, number: int, members: Sequence[str]) -> list[AttemptReport]:
        return []

    def close(self) -> None:
        pass
