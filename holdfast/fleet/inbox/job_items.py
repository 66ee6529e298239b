"""Items of jobs that died. An item ends when its job runs again, and stays in the history."""

from collections.abc import Iterator
from dataclasses import replace

from holdfast.fleet.inbox.item import MOST_MEMBERS, Item, ItemKind, Severity, Sources, lasted
from holdfast.fleet.inbox.next_step import MOST_COMMANDS, of_cause
from holdfast.fleet.jobs.views import RestartView, TrainingView
from holdfast.model import command_line
from holdfast.model.job import Job, JobState

JOB_DIED = "job.unknown"
DIED = frozenset({JobState.FAILED, JobState.NODE_FAILED, JobState.OUT_OF_MEMORY})
CAUSE_OF = {JobState.OUT_OF_MEMORY: "host.oom", JobState.NODE_FAILED: "host.other"}
GONE = "gone"
RUNS_AGAIN = "the job runs again"
KEPT_SECONDS = 86_400.0  # an unresolved dead job leaves the inbox after this time


def of_jobs(sources: Sources) -> list[Item]:
    found = [_of_training(one, sources) for one in sources.trainings if one.state == GONE and one.reports_progress]
    running = _running(sources)
    return found + [_of_job(job, sources) for job in _of_scheduler(sources) if _ran_as(job) not in running]


def restarted(sources: Sources) -> list[Item]:
    """Deaths after which the job continued."""
    # the ranks of these jobs report each death
    telling = {one.job for one in sources.trainings if one.reports_progress}
    running = _running(sources) - telling
    over = [
        replace(
            _of_job(job, sources),
            lasted_seconds=0.0,
            ended_at=job.end or job.start or 0.0,
            outcome=RUNS_AGAIN,
        )
        for job in _of_scheduler(sources)
        if _ran_as(job) in running
    ]
    return over + [item for job in sources.trainings for item in _deaths(job, sources)]


def _of_scheduler(sources: Sources) -> Iterator[Job]:
    """Deaths that only the scheduler reports."""
    named = {one.job for one in sources.trainings}
    return (one for one in sources.jobs if one.state in DIED and not one.step and one.id not in named)


def _running(sources: Sources) -> frozenset[str]:
    return frozenset(one.job for one in sources.trainings if one.state != GONE)


def _ran_as(job: Job) -> str:
    """The name of the training of an attempt NAME.NUMBER."""
    return job.id.rpartition(".")[0]


def _deaths(job: TrainingView, sources: Sources) -> Iterator[Item]:
    for restart in reversed(job.restarts):
        died = restart.at - restart.down_seconds / sources.time_factor
        item = _of_training(job, sources)
        yield replace(
            item,
            key=_key(job, restart.attempt),
            title=f"{job.job} died at step {max(0, restart.from_step + restart.lost_steps):,}",
            detail=f"attempt {restart.attempt} ended; {job.world} ranks{_shortly_before(restart)}",
            runbook="" if restart.notes else item.runbook,  # the runbook is for a death without a known cause
            since=died,
            lasted_seconds=restart.down_seconds,
            severity=Severity.WARNING,
            members=restart.nodes[:MOST_MEMBERS],
            gpus_lost=None,
            cost_so_far=restart.gpu_hours * sources.prices.gpu_hour,
            ended_at=restart.at,
            outcome=_went_on(restart),
        )


def _shortly_before(restart: RestartView) -> str:
    if not restart.notes:
        return ""
    more = len(restart.notes) - 1
    return f"; shortly before: {restart.notes[0]}{f' and {more} more' if more else ''}"


def _went_on(restart: RestartView) -> str:
    begin = f"step {restart.from_step:,}" if restart.from_step >= 0 else "the beginning"
    return f"the job went on from {begin}; {restart.lost_steps:,} steps were made again"


def _key(job: TrainingView, attempt: int) -> str:
    """The key of a death. It contains the attempt, so that each death has one key, during and after it."""
    return f"job/{job.owner}:{job.job}#{attempt}"


def _of_training(job: TrainingView, sources: Sources) -> Item:
    remedy = of_cause(JOB_DIED, job.nodes[0] if job.nodes else "")
    lost = job.exposure_gpu_hours
    return Item(
        key=_key(job, job.attempt),
        kind=ItemKind.JOB,
        subject=f"job/{job.job}",
        title=f"{job.job} died at step {job.step:,}",
        detail=job.reason or f"its {job.world} ranks stopped reporting",
        since=job.last_report_at,
        lasted_seconds=lasted(job.last_report_at, sources),
        severity=Severity.CRITICAL,
        owner=job.owner or "job owner",
        remedy=f"find out why before it runs again: holdfast diagnose --job {command_line.argument(job.job)}",
        runbook=remedy.runbook,
        commands=(
            f"holdfast diagnose --job {command_line.argument(job.job)}",
            f"holdfast job show {command_line.operand(job.job)}",
        ),
        members=job.nodes[:MOST_MEMBERS],
        cost_so_far=lost * sources.prices.gpu_hour if lost is not None else None,
        currency=sources.prices.currency,
    )


def _of_job(job: Job, sources: Sources) -> Item:
    cause = CAUSE_OF.get(job.state, JOB_DIED)
    remedy = of_cause(cause, job.nodes[0] if job.nodes else "")
    name = job.shown_as or job.id
    ended = job.end or job.start or 0.0
    return Item(
        key=f"job/{job.source}:{job.id}@{ended:.0f}",
        kind=ItemKind.JOB,
        subject=f"job/{name}",
        title=f"job {name} ended: {job.state.value.replace('_', ' ')}",
        detail=f"exit code {job.exit_code}" if job.exit_code else f"{job.source} reports {job.state.value}",
        since=ended,
        lasted_seconds=lasted(ended, sources),
        owner=job.user or remedy.owner,
        remedy=remedy.text,
        runbook=remedy.runbook,
        commands=(f"holdfast diagnose --job {command_line.argument(job.id)}", *remedy.commands)[:MOST_COMMANDS],
        members=job.nodes[:MOST_MEMBERS],
    )
