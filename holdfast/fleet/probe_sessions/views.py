"""What the API shows of the fabric: which leaves were proven when, who is suspected, who meets next."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.model.wire.probe import SweepRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPairView:
    one: str
    other: str
    proven_at: float | None
    """When two of their nodes last met; None: not within the period."""
    bytes_per_second: float | None
    ratio: float | None
    """To what is usual in this fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSuspectView:
    subject: str
    loss: float
    confidence: float
    confirmed: bool
    """Slow again with a partner known to be good; nobody is quarantined before that."""
    slow: int
    measured: int
    evidence: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSessionView:
    one: str
    other: str
    why: str
    since: float | None = None
    """When it was asked for; None: it comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTroubleView:
    node: str
    at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofView:
    """Two nodes met and measured."""

    at: float
    one: str
    other: str
    bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRunRequest:
    nodes: tuple[str, ...]
    reason: str
    sweep: SweepRequest = field(default_factory=SweepRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRunView:
    number: int
    nodes: tuple[str, ...]
    reason: str
    since: float
    ordered: tuple[str, ...]
    """Nodes that came for their order. Agents do so with their reports, at most 30 s apart."""
    leader: str
    """The first of them: it leads, and tells."""
    at: str
    """What it is at."""
    ended: float | None
    report: dict[str, Any] | None
    """What was found, as `holdfast probe run --json` prints it; None while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesView:
    enabled: bool
    at: float
    period_seconds: float
    usual_bytes_per_second: float | None
    sessions: int
    """Within the period."""
    leaves: tuple[LeafPairView, ...]
    """Every pair of leaves, those of one leaf with itself included."""
    suspects: tuple[ProbeSuspectView, ...]
    running: tuple[ProbeSessionView, ...]
    next: tuple[ProbeSessionView, ...]
    troubles: tuple[ProbeTroubleView, ...]
    """Nodes that could not take part: unknown, not slow."""
    history: tuple[ProofView, ...] = ()
    """The newest sessions of the period, oldest first."""
    runs: tuple[ProbeRunView, ...] = ()
    """Asked for by somebody, and under way."""
