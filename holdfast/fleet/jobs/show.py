"""API view of a training job."""

from collections.abc import Sequence
from typing import Any

from holdfast.fleet.jobs.record import SILENT_SECONDS, JobRecord, Rank
from holdfast.fleet.jobs.verdicts import JobVerdicts
from holdfast.fleet.jobs.views import (
    CheckpointsView,
    ExposureView,
    RankView,
    RestartView,
    SlowView,
    TrainingDetail,
    TrainingView,
)
from holdfast.model.health import Health
from holdfast.model.verdict import Verdict, overall
from holdfast.model.wire.progress import RankWindow

HOUR = 3_600.0
MOST_RANKS = 512
LISTED_RESTARTS = 16
MOST_ROWS = 32  # ranks listed in a verdict; most of a job's thousands are healthy


def state_of(record: JobRecord, now: float) -> str:
    return record.ended or ("silent" if now - record.last_report_at > SILENT_SECONDS else "running")


def counted_until(record: JobRecord, now: float) -> float:
    """End of the counted time: for a job that does not run, its last step."""
    return now if state_of(record, now) == "running" else record.accounts.at


def summary(job: JobVerdicts, now: float, kept: CheckpointsView) -> TrainingView:
    """The job's entry in a list, with its last restarts only."""
    common = _common(job, now, kept)
    return TrainingView(**{**common, "restarts": common["restarts"][-LISTED_RESTARTS:]})


def detail(job: JobVerdicts, now: float, kept: CheckpointsView) -> TrainingDetail:
    record, accounts = job.record, job.record.accounts
    until = counted_until(record, now)
    ledger = accounts.ledger_until(until)
    gpus = max(record.world, 1)
    return TrainingDetail(
        **_common(job, now, kept),
        began=accounts.began,
        elapsed_seconds=ledger.total,
        usual_step_seconds=accounts.usual_seconds,
        ettr=_share(ledger.productive + ledger.degraded, ledger.total),
        checkpoint_efficiency=_share(
            ledger.productive + ledger.degraded, ledger.productive + ledger.degraded + ledger.checkpoint
        ),
        cluster_days=ledger.productive / 86_400,
        gpu_hours={name: seconds * gpus / HOUR for name, seconds in ledger.parts().items()},
        exposure=exposure(record, until, kept),
        checkpoints=kept,
        slow=tuple(_slow(job)),
        verdicts=tuple(_shortened(verdict) for verdict in job.verdicts),
        trouble=record.trouble,
        unreceived_steps=sum(rank.window.dropped for rank in record.current),
        ranks=_ranks(record),
        ranks_left_out=max(0, len(record.current) - MOST_RANKS),
    )


def _ranks(record: JobRecord) -> tuple[RankView, ...]:
    """Ranks by number; of too many, those with the longest compute time."""
    ranks = [rank for rank in record.current if rank.window.steps]
    if len(ranks) > MOST_RANKS:
        ranks = sorted(ranks, key=lambda rank: -rank.window.own_seconds)[:MOST_RANKS]
    return tuple(
        RankView(
            rank=rank.window.rank,
            node=rank.node,
            gpu=rank.window.gpu,
            step=rank.window.seconds / rank.window.steps,
            compute=rank.window.own_seconds if _split(rank) else None,
            data=rank.window.data_seconds / rank.window.steps,
            wait=rank.window.wait_seconds / rank.window.steps if _split(rank) else None,
            checkpoint=rank.window.checkpoint_seconds / rank.window.steps,
            saved_step=rank.window.saved_step,
        )
        for rank in ranks
    )


def _split(rank: Rank) -> bool:
    """Compute and waiting time. A single rank never waits for others."""
    return rank.window.split or rank.window.world == 1


def exposure(record: JobRecord, now: float, kept: CheckpointsView) -> ExposureView | None:
    """Steps since the last safe one, the current one, and their duration.

    A step is safe if a rank reported it so, or if the keepers have committed it since.
    """
    accounts = record.accounts
    if accounts.began is None:
        return None
    saved = max(record.saved_step, kept.committed_step)
    steps = max(0, accounts.step - max(saved, 0))
    usual = accounts.usual_seconds or _share(accounts.ledger.productive, float(max(accounts.step, 1))) or 0.0
    under_way = max(0.0, now - accounts.at)
    seconds = steps * usual + under_way
    tokens = sum(rank.tokens_per_step for rank in record.current)
    return ExposureView(
        saved_step=saved,
        steps=steps,
        seconds=seconds,
        gpu_hours=seconds * max(record.world, 1) / HOUR,
        tokens=steps * tokens,
    )


def _common(job: JobVerdicts, now: float, kept: CheckpointsView) -> dict[str, Any]:
    record, accounts = job.record, job.record.accounts
    ranks = record.current
    fresh = record.fresh(now)
    made = [rank for rank in fresh if rank.window.steps]
    step_seconds = max((_step_seconds(rank.window) for rank in made), default=None)
    tokens = sum(rank.tokens_per_step for rank in made)
    until = counted_until(record, now)
    ledger = accounts.ledger_until(until)
    lost = exposure(record, until, kept)
    first = made[0].window if made else None
    return {
        "job": record.name,
        "owner": record.owner,
        "reports_progress": True,
        "state": state_of(record, now),
        "health": health_of(job.verdicts),
        "reason": _reason(job.verdicts),
        "nodes": tuple(sorted({rank.node for rank in ranks})),
        "world": record.world,
        "ranks_reporting": len(ranks),
        "attempt": record.attempt + 1,
        "last_report_at": record.last_report_at,
        "step": max(accounts.step, lost.saved_step if lost else -1),  # the safe step was completed, reported or not
        "step_seconds": step_seconds,
        "tokens_per_second": tokens / step_seconds if step_seconds and tokens else None,
        "loss": first.loss if first else None,
        "gradient_norm": first.gradient_norm if first else None,
        "goodput": _share(ledger.productive, ledger.total),
        "exposure_gpu_hours": lost.gpu_hours if lost else None,
        "restarts": _restarts(record),
    }


def _step_seconds(window: RankWindow) -> float:
    """Step time without checkpoints, like the usual step time: a window with a checkpoint is not slow."""
    return max(0.0, window.seconds - window.checkpoint_seconds) / window.steps


def _restarts(record: JobRecord) -> tuple[RestartView, ...]:
    gpus = max(record.world, 1)
    return tuple(
        RestartView(
            at=one.at,
            down_seconds=one.down_seconds,
            from_step=one.from_step,
            lost_steps=one.lost_steps,
            rework_seconds=one.rework_seconds,
            nodes=one.nodes,
            attempt=one.attempt + 1,
            gpu_hours=(one.down_seconds + one.rework_seconds) * gpus / HOUR,
        )
        for one in record.accounts.restarts
    )


def health_of(verdicts: Sequence[Verdict]) -> Health:
    """Degraded takes precedence over unknown, so that a slow job is shown even if another check has no result yet."""
    if any(one.health is Health.DEGRADED for one in verdicts):
        return Health.DEGRADED
    return overall(verdicts) if verdicts else Health.UNKNOWN


def _reason(verdicts: Sequence[Verdict]) -> str:
    health = health_of(verdicts)
    return "" if health is Health.PASS else next((one.summary() for one in verdicts if one.health is health), "")


def _slow(job: JobVerdicts) -> list[SlowView]:
    return [
        SlowView(
            subject=row.subject,
            check=verdict.check,
            ratio=float(row.value or 0.0),
            since=job.slow_since.get(row.subject),
            reason=row.reason,
        )
        for verdict in job.verdicts
        for row in verdict.rows
        if row.health is Health.DEGRADED
    ]


def _shortened(verdict: Verdict) -> dict[str, Any]:
    document = verdict.as_json()
    rows = sorted(document["subjects"], key=lambda row: row["health"] == Health.PASS.value)
    return {**document, "subjects": rows[:MOST_ROWS], "subjects_left_out": max(0, len(rows) - MOST_ROWS)}


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
