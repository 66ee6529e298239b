"""Prometheus metrics of training jobs: step time, GPU-hours by category, exposure to a failure."""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import Metric

from holdfast.fleet.api.metrics.families import gauge
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.service import Service
from holdfast.fleet.jobs.views import TrainingDetail
from holdfast.model.health import Health

MOST_JOBS = 50  # each job has some dozen series
JOB = ("job", "owner")
_CODES = {Health.PASS: 0, Health.DEGRADED: 1, Health.FAIL: 2, Health.UNKNOWN: 3, Health.NOT_APPLICABLE: 4}
_VALUES: tuple[tuple[str, str, Callable[[TrainingDetail], float | None]], ...] = (
    ("health", "0 pass, 1 degraded, 2 fail, 3 unknown.", lambda one: _CODES[one.health]),
    ("ranks", "Ranks that the job has.", lambda one: one.world),
    ("ranks_reporting", "Ranks that reported their progress lately.", lambda one: one.ranks_reporting),
    ("step", "The last step that was made.", lambda one: one.step),
    ("step_seconds", "Current duration of a step.", lambda one: one.step_seconds),
    ("usual_step_seconds", "Usual duration of a step.", lambda one: one.usual_step_seconds),
    ("tokens_per_second", "Throughput in tokens, if the job reports tokens.", lambda one: one.tokens_per_second),
    ("goodput_ratio", "The share of GPU-hours that was productive.", lambda one: one.goodput),
    ("ettr_ratio", "The share of all time that went into steps not made before.", lambda one: one.ettr),
    ("exposure_gpu_hours", "Loss if the job failed now.", lambda one: one.exposure_gpu_hours),
    (
        "committed_step",
        "The newest step that is committed on `replicas` nodes.",
        lambda one: _step(one.checkpoints.committed_step),
    ),
    ("stored_step", "The newest step that is complete in storage.", lambda one: _step(one.checkpoints.stored_step)),
    ("restarts", "Restarts that were seen.", lambda one: len(one.restarts)),
)


def _step(number: int) -> float | None:
    """The step time; None if it is not reported."""
    return number if number >= 0 else None


async def running(service: Service) -> list[TrainingDetail]:
    """Jobs with progress that have not ended, the most recent reports; none if this controller does not lead."""
    if not service.board.leading:
        return []
    try:
        listed = [
            one
            for one in (await service.trainings()).jobs
            if one.reports_progress and one.state in ("running", "silent")
        ]
        return [await service.training(f"{one.owner}:{one.job}") for one in listed[:MOST_JOBS]]
    except Problem:  # the lead changed or a job ended meanwhile; the next scrape is soon
        return []


def jobs(found: Sequence[TrainingDetail]) -> Iterable[Metric]:
    for name, words, value in _VALUES:
        reported = {(one.job, one.owner): value(one) for one in found}
        yield gauge(f"holdfast_job_{name}", words, JOB, {job: one for job, one in reported.items() if one is not None})
    yield gauge(
        "holdfast_job_gpu_hours",
        "Where its GPU-hours went; the parts add up to the whole.",
        (*JOB, "part"),
        {(one.job, one.owner, part): hours for one in found for part, hours in one.gpu_hours.items()},
    )
    yield gauge(
        "holdfast_job_slow_ratio",
        "How much longer a rank, link or GPU takes than its peers, as a share: 0.11 is 11 % longer.",
        (*JOB, "subject"),
        {(one.job, one.owner, slow.subject): slow.ratio for one in found for slow in one.slow},
    )
