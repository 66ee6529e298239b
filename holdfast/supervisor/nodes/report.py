"""Messages between the supervisors of a job as JSON: an attempt's plan, its end, each node's report."""

from dataclasses import dataclass

from holdfast.model.evidence import Evidence
from holdfast.supervisor.evidence.stack_capture import StackCapture


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReport:
    """One node's account of an attempt."""

    node: str
    exit_code: int
    ended_by: str = ""  # why the supervisor ended it; '' where it ended by itself
    signal: int = 0  # that the supervisor itself was sent
    silent_seconds: float = 0.0
    first_step: int | None = None
    last_step: int | None = None
    evidence: tuple[Evidence, ...] = ()
    captures: tuple[StackCapture, ...] = ()
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPlan:
    """Who takes part in the next attempt, or the end of the run. It carries no command and no environment."""

    number: int
    members: tuple[str, ...] = ()  # in the order of their node ranks
    excluded: tuple[str, ...] = ()
    master_host: str = ""  # where the ranks meet; '' on one node, where the launcher chooses
    master_port: int = 0
    probe: bool = False  # every member tests its own node before it starts
    finished: bool = False
    exit_code: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """Sent by the first node whose attempt ended, so that the others do not wait for a watchdog."""

    node: str
    why: str
    hang: bool = False  # the others capture their ranks' stacks before they end them
