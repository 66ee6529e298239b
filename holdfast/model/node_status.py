"""Node status in its scheduler: schedulable, busy, and the owner and reason of a drain."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    node: str
    accepts_work: bool
    """The scheduler may start something there now."""
    cordoned: bool
    """Somebody asked that nothing new start there: a Slurm drain, a Kubernetes cordon."""
    down: bool
    """The scheduler itself has lost or refused it."""
    busy: bool
    """Something runs there, or is still ending."""
    known: bool = True
    """False: the node has not registered since the scheduler started, so its state proves nothing."""
    ours: bool = False
    """The cordon is our own, so we may lift it."""
    note: str = ""
    note_by: str = ""
    marked_at: float | None = None
    """When we first saw the mark that a script of ours on the node made; None without one."""
    jobs: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    """Jobs of which only a prolog or an epilog runs there. On a node that takes no work they may be refused ones."""
    up_since: float | None = None
    """When the scheduler's daemon on the node last started."""
    state: str = ""
    """The scheduler's own words, for people."""
    addresses: tuple[str, ...] = ()
    """Where the scheduler reaches it: addresses or host names."""

    @property
    def drained_and_empty(self) -> bool:
        """Confirmed: nothing new can start there and nothing runs. An unknown state is never empty."""
        return self.known and self.cordoned and not self.accepts_work and not self.busy and not self.jobs
