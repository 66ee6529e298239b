"""Record of an attempt, and the decision after it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    number: int
    began: float  # seconds since the epoch
    ended: float
    exit_code: int  # negative for a signal
    ended_by: str = ""  # why the supervisor ended it; '' if it ended by itself
    cause: str = ""  # stable name; '' if nothing was wrong
    subject: str = ""
    says: str = ""  # the cause in a sentence
    first_step: int | None = None
    last_step: int | None = None
    advanced: bool = False  # whether it made more progress than all attempts before it
    nodes: tuple[str, ...] = ()
    decision: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What follows after an attempt, with the reason and the evidence."""

    action: str  # done, restart, wait_for_storage, stop
    reason: str
    exit_code: int = 0
    wait_seconds: float = 0.0
    exclude: tuple[str, ...] = ()
    checkpoint: str = ""
    probe: bool = False  # every node checks itself before the next attempt
    storage: str = ""  # the path to wait for
    evidence: tuple[str, ...] = ()

    @property
    def goes_on(self) -> bool:
        return self.action in ("restart", "wait_for_storage")
