"""A node as its scheduler sees it: may work start there, does some run, who took it out of service and why."""

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
    ours: bool = False
    """The cordon is our own, so we may lift it."""
    note: str = ""
    note_by: str = ""
    marked_at: float | None = None
    """When we first saw the mark that a script of ours on the node made; None without one."""
    jobs: frozenset[str] = frozenset()
    up_since: float | None = None
    """When the scheduler's daemon on the node last started."""
    state: str = ""
    """The scheduler's own words, for people."""
    addresses: tuple[str, ...] = ()
    """Where the scheduler reaches it: addresses or host names."""
