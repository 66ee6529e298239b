"""API request and response types. OpenAPI and the console's TypeScript types are generated from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.fleet.inbox.incident_figures import IncidentFigures
from holdfast.fleet.inbox.next_step import NextStep
from holdfast.model.health import Health
from holdfast.model.incident import Incident
from holdfast.model.job import Job
from holdfast.model.lifecycle import EventKind, Stage, Verb
from holdfast.model.records import AuditEntry, Outcome, PendingNode, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    name: str
    pool: str
    stage: Stage
    since: float
    reason: str
    cause: str
    health: Health
    repair_step: int
    tested_at: float | None
    last_report_at: float | None
    degraded_by: str
    held: str
    """What holds it while it fails: the incident on 'loop/c2', 'loop/c2?' while that is only suspected, the breaker of
    'pool/train', 'maintenance/winter'."""
    place: Mapping[str, str]
    jobs: tuple[str, ...]
    twin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    check: str
    health: str
    """pass, degraded, fail, unknown, not_applicable or disabled."""
    reason: str
    since: float
    evidence: tuple[str, ...]
    remedy: str = ""
    """What to do about it; '' of a verdict that asks for nothing."""
    owner: str = ""
    """The team that does it."""
    runbook: str = ""
    """Its name: GET /v1/runbook/NAME has the steps, runbooks/NAME.md the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail(NodeView):
    next_step: NextStep | None = None
    """What happens to it next, or what an operator does now; null where nothing is wrong."""
    verdicts: tuple[VerdictView, ...] = ()
    """Where there are too many, the worst."""
    verdicts_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesView:
    """Nodes by name. `next` is the value of `after` for the next page; '' at the end of the list."""

    nodes: tuple[NodeView, ...]
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    at: float
    kind: str
    """transition, verdict, event or action."""
    title: str
    detail: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """Newest first. `next` is the value of `before` for the next page; '' at the beginning of the history."""

    entries: tuple[HistoryEntry, ...]
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    pool: str
    nodes: int
    out: int
    testing: int
    """In a test without having failed: they take no work, but do not count against the cap."""
    cap: int
    breaker_open: bool
    reason: str
    spares_short: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetView:
    nodes: int
    stages: Mapping[str, int]
    healths: Mapping[str, int]
    pools: tuple[PoolView, ...]
    dry_run: bool
    demo: bool
    time_factor: float
    """How much faster than the clock a simulated fleet lives; 1 for every other."""
    clock_began: float
    """When its clock and the controller's were the same; from there on its own runs `time_factor` times as fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionView:
    node: str
    at: float
    before: Stage
    after: Stage
    event: EventKind
    cause: str
    reason: str
    evidence: tuple[str, ...]
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionsView:
    transitions: tuple[TransitionView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionView:
    id: int
    node: str
    verb: Verb
    state: Outcome
    attempts: int
    at: float
    cause: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsView:
    actions: tuple[ActionView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """An order that a node's agent has not answered yet."""

    id: int
    """Of the action that it carries out."""
    node: str
    verb: Verb
    reason: str
    at: float
    """When it was decided."""
    handed_over_at: float | None
    """When the agent first got it, with the answer to a report; null while it has not reported since."""
    again_at: float | None
    """When it is handed over again if no answer comes: the acknowledgement may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersView:
    orders: tuple[OrderView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentView(Incident):
    """An incident with its figures."""

    figures: IncidentFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentsView:
    incidents: tuple[IncidentView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsView:
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditView:
    entries: tuple[AuditEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrolRequest:
    node: str
    join_token: str
    pool: str = "default"
    place: Mapping[str, str] = field(default_factory=dict)
    twin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    credential: str
    """Shown this once; the controller stores only its hash."""
    expires: float
    pending: bool = False
    """The node waits for approval by the scheduler or an operator; until then its reports are not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketRequest:
    """A ticket of another system about a node or one of its parts."""

    ticket: str
    state: str = "open"
    """open, sent (the part is on its way), replaced or closed."""
    part: str = ""
    """A place of the asset record: 'node', 'gpu/3', 'nic/mlx5_4'."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRequest:
    """The reason of an operator's request."""

    reason: str
    force: bool = False
    """Also if more nodes of the pool would be out of service than its policy allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    name: str = ""
    """Whose token; not needed for a join token."""
    role: Role | None = None
    """None asks for a join token, with which agents enrol."""
    hours: float = 24 * 30
    uses: int = 1
    """Of a join token: how many nodes may enrol with it. For more than one, `nodes` or `network` says which."""
    node: str = ""
    """Of a join token: the one node that may enrol with it, also if an agent of that name is known and reports."""
    nodes: str = ""
    """A Slurm hostlist, such as gpu[001-100]. Of a join token: the names that may enrol, wildcards included. Of a job's
    token: the nodes that it may read and have re-tested."""
    network: str = ""
    """For a join token: the network that nodes enrol from, such as 10.1.0.0/16."""
    vouch: bool = False
    """Of a join token for several nodes: they are vouched for at once. One for a single node always vouches for it."""
    job: str = ""
    """For a job's token: the scheduler's id of the job. Its nodes are those that the scheduler names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingView:
    """Nodes that enrolled and wait for approval, the oldest first."""

    pending: tuple[PendingNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VouchRequest:
    name: str
    hash: str = ""
    """Of the credential that is meant, as the list of pending nodes shows it; '' is the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMade:
    token: str
    hash: str
    expires: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeRequest:
    target: str
    """A name, or the hash of one token."""
    kind: str = ""
    """Whose name it is: node or user. '' where only one of them has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    revoked: int
