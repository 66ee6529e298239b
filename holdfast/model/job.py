"""Job: command, owner, nodes and times. One type for Slurm, Kubernetes and agents."""

from dataclasses import dataclass
from enum import StrEnum


class JobState(StrEnum):
    WAITING = "waiting"  # has no nodes
    RUNNING = "running"
    SUSPENDED = "suspended"  # stopped, but still in memory on its nodes
    ENDING = "ending"  # ended for its owner; processes or the epilog still run on the node
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    PREEMPTED = "preempted"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAILED = "node_failed"  # the scheduler says that the job ended because a node failed
    UNKNOWN = "unknown"

    @property
    def holds_nodes(self) -> bool:
        """Whether anything of the job is still on its nodes. Unknown counts as yes."""
        return self in _HOLDING


_HOLDING = frozenset({JobState.RUNNING, JobState.SUSPENDED, JobState.ENDING, JobState.UNKNOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`(source, id)` identifies a job; a job step also has `step`."""

    id: str
    """The scheduler's own id, the one in a process's cgroup; a member of an array has one too."""
    source: str
    """slurm, kubernetes or agent."""
    shown_as: str = ""
    """What its owner knows it by where that differs, such as 8012944_24093."""
    step: str = ""
    """For a part of a job, such as 0 or batch; '' is the whole job."""
    account: str = ""
    user: str = ""
    nodes: tuple[str, ...] = ()
    gpus: int | None = None
    """None where the source does not say, which is not none: what is stored of it must allow for that."""
    start: float | None = None
    end: float | None = None
    """When it ended; for a running job None, whatever its time limit says."""
    state: JobState = JobState.UNKNOWN
    in_prolog: bool = False
    """Its nodes are allocated and their prologs run: nothing of it has started yet, and a prolog may refuse it."""
    exit_code: str = ""
    """As the scheduler says it, such as 0:9 (exit code and signal); '' while it runs or where it is not known."""
