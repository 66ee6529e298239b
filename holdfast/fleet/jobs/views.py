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
    """Nodes of the attempt that died."""
    attempt: int = 0
    """The attempt that died, from 1."""
    notes: tuple[str, ...] = ()
    """Events on its nodes shortly before: the best explanation without its logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """One job in a list."""

    job: str
    owner: str
    """The user that its ranks run as, according to the kernel; '' for a job that reports nothing."""
    reports_progress: bool
    """Whether its ranks report progress. If not, only its GPUs are known."""
    state: str
    """running, silent, closed or gone. The last two have ended, with and without a final report."""
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
    """Subject of the open incident that explains why it is slow; '': none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingsView:
    jobs: tuple[TrainingView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureView:
    """The loss if the job died now."""

    saved_step: int
    """The newest safe step; -1 if none was reported."""
    steps: int
    seconds: float
    gpu_hours: float
    tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesView:
    """One saved step: number of ranks with a part in each place."""

    step: int
    own_memory: int
    """In the keeper of the rank's own node."""
    partner: int
    """In the keeper of another node."""
    storage: int
    committed: bool
    gpu_memory: int = 0
    """Also in the memory of a GPU of the rank's own node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsView:
    """Locations of its checkpoints, as its keepers report them. Step -1: none."""

    unknown: str = ""
    """Why nothing is known; then the other fields have no meaning."""
    kept_as: str = ""
    """The job's name at its keepers."""
    world: int = 0
    replicas: int = 0
    """Nodes that hold each rank's part."""
    keepers: int = 0
    """Number of keepers that reported recently."""
    committed_step: int = -1
    """The newest step of which every rank's part is on that many nodes."""
    stored_step: int = -1
    """The newest step that is complete in storage."""
    unsaved_step: int = -1
    """The newest step that a keeper holds for its ranks and that is not in storage."""
    used_bytes: int = 0
    budget_bytes: int = 0
    steps: tuple[PlacesView, ...] = ()
    """Newest first."""
    storage_unknown: str = ""
    """Why a keeper does not know which steps are in storage."""
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowView:
    """A rank, link or GPU that is slower than its peers."""

    subject: str
    check: str
    ratio: float
    """Difference from the peers: 0.11 is 11 % longer."""
    since: float | None
    reason: str
    incident: str = ""
    """Like that of the job, for this part alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """How one rank spends a step, in seconds.

    If waiting for others is not measured separately from computing, both are unknown; together they are the rest of the
    step after data and checkpoint.
    """

    rank: int
    node: str
    gpu: int | None
    step: float
    compute: float | None
    data: float
    wait: float | None
    checkpoint: float
    saved_step: int
    """The newest step that it reported as safe; -1: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDetail(TrainingView):
    began: float | None
    elapsed_seconds: float
    usual_step_seconds: float | None
    ettr: float | None
    """Share of all time that was spent on new steps, at any speed."""
    checkpoint_efficiency: float | None
    """Share of the steps in the time of such steps and their checkpoints."""
    cluster_days: float
    """Days of progress at the usual speed of all its GPUs together."""
    gpu_hours: Mapping[str, float]
    """The ledger: every GPU-hour has one category, and they add up to the elapsed time of all GPUs."""
    exposure: ExposureView | None
    checkpoints: CheckpointsView
    slow: tuple[SlowView, ...]
    verdicts: tuple[Mapping[str, Any], ...]
    trouble: str
    unreceived_steps: int
    """Steps that ranks made and could not report."""
    ranks: tuple[RankView, ...] = ()
    """The slowest first, if there are more than can be shown."""
    ranks_left_out: int = 0
