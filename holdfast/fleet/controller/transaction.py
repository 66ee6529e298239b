"""Transaction: one batch of commands in one commit, and the changes that the rest of the controller receives."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.store import Store
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState
from holdfast.model.records import AuditEntry, LifecycleStep, StoredAction
from holdfast.model.wire.report import Report


@dataclass(slots=True)
class Transaction:
    """Access of a command to the fleet and the store, in the writer's thread and inside the batch's transaction."""

    store: Store
    fleet: Fleet
    orders: PendingOrders
    epoch: int
    now: float
    steps: list[LifecycleStep] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)  # nodes whose health may have changed
    reported: set[str] = field(default_factory=set)
    incidents: list[Incident] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)  # ended actions: (verb, outcome)
    forgotten: set[str] = field(default_factory=set)  # nodes to delete after everything else is written

    def decide(self, steps: Sequence[LifecycleStep]) -> None:
        self.steps += steps


Do = Callable[[Transaction, Sequence[bool]], Any]


@dataclass(slots=True)
class ReportWork:
    """`do` gets, for each of the reports, whether it was new."""

    do: Do
    reports: Sequence[Report] = ()
    future: "asyncio.Future[Any] | None" = None
    component: str = "writer"
    """The part of the controller whose failure it is when this work cannot be done."""

    @property
    def changes(self) -> int:
        return sum(len(report.changes) for report in self.reports)

    @property
    def urgent(self) -> bool:
        """Whether the work must be in the next commit: commands, actions and failures. Heartbeats, passes and test
        results can wait."""
        failures = (one.after == Health.FAIL.value for report in self.reports for one in report.changes)
        return not self.reports or any(failures)


@dataclass(slots=True)
class News:
    """What a committed batch changed, for the event loop."""

    answers: list[tuple["asyncio.Future[Any]", Any]] = field(default_factory=list)
    lives: list[tuple[NodeState, str]] = field(default_factory=list)
    steps: Sequence[LifecycleStep] = ()
    incidents: Sequence[Incident] = ()
    reported: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    ended: Sequence[tuple[str, str]] = ()
    commit_seconds: float = 0.0
    now: float = 0.0
    everything: bool = False
    leader: str = ""
    leading: bool = False


Claimed = list[StoredAction]
