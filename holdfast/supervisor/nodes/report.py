"""What one node's supervisor tells of an attempt, and what all are told to do next. Both travel as JSON."""

from dataclasses import dataclass, field

from holdfast.model.evidence import Evidence
from holdfast.supervisor.evidence.stack_capture import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    node: str
    exit_code: int
    ended_by: str = ""  # why the supervisor ended it; '' where it ended by itself
    signal: int = 0  # that the supervisor itself was sent
    silent_seconds: float = 0.0
    first_step: int | None = None
    last_step: int | None = None
    evidence: tuple[Evidence, ...] = ()
    looks: tuple[Look, ...] = ()
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One attempt's cast, or the end."""

    number: int
    members: tuple[str, ...] = ()  # in the order of their node ranks
    excluded: tuple[str, ...] = ()
    environ: dict[str, str] = field(default_factory=dict)
    probe: bool = False  # before it starts, every member looks at its own node
    finished: bool = False
    exit_code: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """Said by the first node whose attempt is over, so that the others do not wait for a watchdog."""

    node: str
    why: str
    hang: bool = False  # the others look at their ranks before they end them
