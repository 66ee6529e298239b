"""What the API shows of the fabric: which leaves were proven when, who is suspected, who meets next."""

from dataclasses import dataclass


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
class MeetingView:
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
class ProbesView:
    enabled: bool
    at: float
    period_seconds: float
    usual_bytes_per_second: float | None
    meetings: int
    """Within the period."""
    leaves: tuple[LeafPairView, ...]
    """Every pair of leaves, those of one leaf with itself included."""
    suspects: tuple[ProbeSuspectView, ...]
    running: tuple[MeetingView, ...]
    next: tuple[MeetingView, ...]
    troubles: tuple[ProbeTroubleView, ...]
    """Nodes that could not take part: unknown, not slow."""
    history: tuple[ProofView, ...] = ()
    """The newest meetings of the period, oldest first."""
