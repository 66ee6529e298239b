"""API views of training jobs, with and without progress reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.model.health import Health


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartView:
    at: float
    down_seconds: float
    from_step: int
    lost_steps: int
    rework_seconds: float
    gpu_hours: float
    nodes: tuple[str, ...] = ()
    """Of the attempt that died."""
    notes: tuple[str, ...] = ()
    """What happened to its nodes shortly before: the nearest to a diagnosis without its logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """One job in a list."""

    job: str
    owner: str
    """The user that its ranks run as, by the kernel's word; '' of a job that tells nothing."""
    reports_progress: bool
    """Do its ranks report progress? If not, only the GPUs under it are known."""
    state: str
    """running, silent, closed or gone: the last two ended, with and without a word."""
    health: Health
    reason: str
    nodes: tuple[str, ...]
    world: int
    ranks_reporting: int
    attempt: int
    last_report_at: float
    step: int
    step_seconds: float | None
    """Without checkpoints, like the usual step time."""
    tokens_per_second: float | None
    """While it makes steps, without checkpoints."""
    loss: float | None
    gradient_norm: float | None
    goodput: float | None
    exposure_gpu_hours: float | None
    restarts: tuple[RestartView, ...] = ()
    """Oldest first; a job keeps the last ones."""
    incident: str = ""
    """What the open incident is about that explains why it is slow; '': none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingsView:
    jobs: tuple[TrainingView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureView:
    """What would be lost if the job died this second."""

    saved_step: int
    """The newest step that is safe; -1 where none was reported."""
    steps: int
    seconds: float
    gpu_hours: float
    tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesView:
    """One saved step: of how many ranks the part is in each place."""

    step: int
    own_memory: int
    """Held by the keeper of the rank's own node."""
    partner: int
    """Held by the keeper of another node."""
    storage: int
    committed: bool
    gpu_memory: int = 0
    """Also held in the memory of a GPU of the rank's own node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsView:
    """Where its checkpoints live, by the word of its keepers. A step of -1 is none."""

    unknown: str = ""
    """Why nothing is known of it; then the rest says nothing."""
    kept_as: str = ""
    """What its keepers call the job."""
    world: int = 0
    replicas: int = 0
    """Nodes that hold each rank's part."""
    keepers: int = 0
    """Reported lately."""
    committed_step: int = -1
    """The newest of which every rank's part is on that many nodes."""
    stored_step: int = -1
    """The newest that is complete in storage."""
    unsaved_step: int = -1
    """The newest that some keeper holds for its ranks and storage does not have."""
    used_bytes: int = 0
    budget_bytes: int = 0
    steps: tuple[PlacesView, ...] = ()
    """Newest first."""
    storage_unknown: str = ""
    """Why some keeper does not know what is in storage."""
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowView:
    """A rank, link or GPU that is slower than its peers."""

    subject: str
    check: str
    ratio: float
    """How much longer it takes than they do: 0.11 is 11 % longer."""
    since: float | None
    reason: str
    incident: str = ""
    """As the job's, for this one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """How one rank spends a step, in seconds. Where waiting for others is not measured apart from computing, both
    are unknown: together they are what data and checkpoint leave of the step."""

    rank: int
    node: str
    gpu: int | None
    step: float
    compute: float | None
    data: float
    wait: float | None
    checkpoint: float
    saved_step: int
    """The newest that it reported as safe; -1: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDetail(TrainingView):
    began: float | None
    elapsed_seconds: float
    usual_step_seconds: float | None
    ettr: float | None
    """The share of all time that went into steps not made before, however slow they were."""
    checkpoint_efficiency: float | None
    """Of the time of such steps and of saving them, the share of the steps."""
    cluster_days: float
    """Days of progress at the usual pace of all its GPUs together."""
    gpu_hours: Mapping[str, float]
    """The ledger: every GPU-hour has one name, and they add up to the elapsed time of all GPUs."""
    exposure: ExposureView | None
    checkpoints: CheckpointsView
    slow: tuple[SlowView, ...]
    verdicts: tuple[Mapping[str, Any], ...]
    trouble: str
    unreceived_steps: int
    """Steps that ranks made and could not report."""
    ranks: tuple[RankView, ...] = ()
    """The slowest first, where there are more than can be shown."""
    ranks_left_out: int = 0
