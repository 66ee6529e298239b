"""An item of the inbox, and the data that items are made from."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.fleet.jobs.views import TrainingView
from holdfast.model.incident import Incident
from holdfast.model.job import Job
from holdfast.model.lifecycle import NodeState
from holdfast.model.wire.report import VerdictChange

GROUP_AT = 4  # this many of one kind become one item
MOST_MEMBERS = 1_000
HOUR = 3600.0


class ItemKind(StrEnum):
    NODE = "node"
    INCIDENT = "incident"
    JOB = "job"


class Severity(StrEnum):
    CRITICAL = "critical"
    """A job loses work now."""
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    key: str
    """Names it for as long as it lasts; the same trouble later is another item."""
    kind: ItemKind
    subject: str
    title: str
    detail: str
    since: float
    lasted_seconds: float = 0.0
    """In the fleet's time. Of an incident, what the incident itself says."""
    severity: Severity = Severity.WARNING
    owner: str = ""
    on_call: str = ""
    remedy: str = ""
    runbook: str = ""
    commands: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """Of a group: the subjects. Of an incident: the nodes it reaches."""
    grouped: tuple[str, ...] = ()
    """Ids of the incidents that are one item."""
    gpus_lost: float | None = None
    """The number of GPUs whose work is lost at this moment; None if unknown."""
    cost_so_far: float | None = None
    cost_per_hour: float | None = None
    currency: str = "USD"
    ended_at: float | None = None
    """When it was over by itself; None while it lasts."""
    outcome: str = ""
    """Of one that is over: how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The data that items are made from."""

    nodes: Iterable[NodeState] = ()
    verdicts: Mapping[str, Sequence[VerdictChange]] = field(default_factory=dict)
    """Of the nodes that wait or are degraded; of others not needed."""
    degraded: Collection[str] = ()
    """Names of the nodes whose worst verdict is degraded."""
    incidents: Sequence[Incident] = ()
    trainings: Sequence[TrainingView] = ()
    jobs: Sequence[Job] = ()
    """Those that ended lately, by the scheduler's word."""
    planned: Sequence[PlannedWorkView] = ()
    """Announced work."""
    policy: Policy = field(default_factory=Policy)
    prices: Prices = field(default_factory=Prices)
    gpus: Callable[[str], int | None] = lambda node: None
    """Of a node."""
    now: float = 0.0
    time_factor: float = 1.0
    """How much faster than the clock the fleet lives: 1 but in a demo."""


def rank(item: Item) -> tuple[bool, float, float, str]:
    """Sort key: items that lose work now, then the cost per hour, then the waiting time."""
    return item.severity is not Severity.CRITICAL, -(item.cost_per_hour or 0.0), item.since, item.key


def lasted(since: float, sources: Sources) -> float:
    """Age of the item in seconds of fleet time."""
    return sources.time_factor * max(0.0, sources.now - since)
