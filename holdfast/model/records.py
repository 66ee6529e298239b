"""The records of the store: transitions, actions, leadership, credentials, the audit log, a node's history."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from holdfast.model.lifecycle import Action, NodeEvent, NodeState, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One lifecycle step of a node. Steps that change nothing are kept too if they explain why nothing was done."""

    node: str
    at: float
    before: Stage
    after: Stage
    event: NodeEvent
    reason: str
    epoch: int = 0  # filled by the store


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleStep:
    """A node's state, its transition and the resulting actions: stored together or not at all."""

    node: NodeState
    transition: Transition
    actions: tuple[Action, ...] = ()


class Outcome(StrEnum):
    """The state of an action. The last four are final."""

    PROPOSED = "proposed"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    DRY_RUN = "dry_run"
    ABANDONED = "abandoned"


FINAL = frozenset({Outcome.DONE, Outcome.FAILED, Outcome.DRY_RUN, Outcome.ABANDONED})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAction:
    id: int
    action: Action
    state: Outcome
    attempts: int  # number of claims
    detail: str = ""
    may_have_run: bool = False
    """It was begun, and no outcome is known: the controller stopped in between, or there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    holder: str
    epoch: int
    until: float


class Role(StrEnum):
    AGENT = "agent"
    JOB = "job"
    """A supervisor of one job: reads its own nodes and asks for their re-test."""
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class CredentialKind(StrEnum):
    """The kind of owner of a credential. Nodes and users have separate namespaces: both may have the same name."""

    NODE = "node"
    USER = "user"

    @classmethod
    def of(cls, role: Role) -> "CredentialKind":
        return cls.NODE if role is Role.AGENT else cls.USER


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A stored credential: only the SHA-256 of a token is stored; `name` is that of the node or the user."""

    token_hash: str
    name: str
    role: Role
    created: float
    expires: float
    revoked: float | None = None
    nodes: str = ""
    """Of a job's token: its nodes, as a Slurm hostlist."""
    job: str = ""
    """Of a job's token: the id of the job, whose nodes the scheduler names."""
    vouched: bool = True
    """False while an agent's node waits for approval by the scheduler or an operator."""
    opened_with: str = ""
    """Of a session: the hash of the token that opened it, with which it ends, or that the identity provider did."""

    def valid(self, now: float) -> bool:
        return self.revoked is None and now < self.expires


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinToken:
    token_hash: str
    created: float
    expires: float
    uses_left: int
    created_by: str = ""
    revoked: float | None = None
    nodes: str = ""
    """The names that may enrol with it: a Slurm hostlist with wildcards; '' is any."""
    network: str = ""
    """The network that a node must enrol from, in CIDR notation; '' is any."""
    vouches: bool = False
    """Whether a node that enrols with it is vouched for at once."""

    def valid(self, now: float) -> bool:
        return self.revoked is None and now < self.expires and self.uses_left > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNode:
    """A node that enrolled and waits for approval: its reports are ignored and no action is taken on it."""

    token_hash: str
    name: str
    pool: str
    place: Mapping[str, str]
    address: str
    """Where it enrolled from."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    at: float
    who: str
    role: str
    verb: str
    target: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The controller's counters of one training job, as its own document."""

    name: str
    owner: str
    at: float
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One entry of a node's history."""

    at: float
    kind: str  # transition, verdict, action, event
    what: str
    reason: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Newest first. `older` is the cursor of the next page; "" at the beginning of the history."""

    lines: tuple[HistoryLine, ...]
    older: str = ""
