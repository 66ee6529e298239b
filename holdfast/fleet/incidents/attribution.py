"""Attributes the losses of jobs to open incidents and prices them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from holdfast.economics.costs.finding import bill
from holdfast.economics.costs.ledger import HOUR, LossClaim, LossLedger, LossSeries, LostHours
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.past import sentence
from holdfast.model.account import Account, Loss
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel, Values

Mask = npt.NDArray[np.bool_]
PAUSE_SECONDS = 300.0  # a job that reports no step for longer stands still; a checkpoint is over by then
STANDS = 0.01  # of its usual throughput


def losses_of(subject: str, loss: Loss, since: float, panel: Panel) -> LossSeries | None:
    """What one job or path lost, column by column; None where nothing of it is measured."""
    ratio, stall = panel.row("job_throughput_ratio", subject), panel.row("pool_stall_ratio", subject)
    count = len(panel.times)
    down: Mask
    if ratio is not None and np.isfinite(ratio).any():
        down = np.nan_to_num(ratio, nan=1.0) <= STANDS
        slow = np.where(down, 0.0, np.clip(1.0 - np.nan_to_num(ratio, nan=1.0), 0.0, 1.0))
    elif stall is not None:
        usual = loss.usual if loss.usual is not None else _before(stall, since, panel)
        slow = np.clip(np.nan_to_num(stall, nan=usual or 0.0) - (usual or 0.0), 0.0, 1.0)
        down = np.zeros(count, np.bool_)
    else:
        row = panel.row("job_step_seconds", subject)
        usual = loss.usual if loss.usual is not None else _before(row, since, panel) if row is not None else None
        if row is None or not usual:
            return None
        down = _stopped(row, panel, subject)
        with np.errstate(divide="ignore", invalid="ignore"):
            slow = np.where(np.isfinite(row), np.clip(1.0 - usual / row, 0.0, 1.0), 0.0)
        slow = np.where(down, 0.0, slow)
    return LossSeries(
        times=panel.times.tolist(), step=panel.step, slow=np.asarray(slow, float).tolist(),
        down=np.asarray(down, float).tolist(), redone=_redone(subject, panel),
    )  # fmt: skip


def usual_of(subject: str, since: float, panel: Panel) -> float | None:
    """What is usual for its step or its stall, in the window before the incident began."""
    for name in ("pool_stall_ratio", "job_step_seconds"):
        row = panel.row(name, subject)
        if row is not None and (found := _before(row, since, panel)) is not None:
            return found
    return None


def attributed(
    ledger: LossLedger,
    accounts: Mapping[str, Account],
    panel: Panel,
    context: BusinessContext,
    worked: Mapping[str, float] | None = None,
) -> dict[str, Account]:
    """The accounts with what each incident is to be billed for. Two on one job share its hours. `worked`: hours since
    an operator acknowledged it, where one did."""
    claims = {
        root: LossClaim(one.since, frozenset(loss.subject for loss in one.losses)) for root, one in accounts.items()
    }
    losses_by_job: dict[str, LossSeries] = {}
    for one in accounts.values():
        for loss in one.losses:
            series = losses_of(loss.subject, loss, one.since, panel) if loss.subject not in losses_by_job else None
            if series is not None:
                losses_by_job[loss.subject] = series
    ledger.attribute(losses_by_job, claims)
    late = _late(ledger, accounts)
    found = {}
    for root, one in accounts.items():
        hours = max(one.lasted_seconds / HOUR, 1e-9)
        losses = tuple(
            _shared(loss, ledger.of(root, loss.subject), hours, claims, late)
            if loss.subject in losses_by_job or ledger.of(root, loss.subject).hours
            else loss
            for loss in one.losses
        )
        labour = (worked or {}).get(root)
        priced = bill(losses, context.prices, one.lasted_seconds / HOUR, context.horizon_hours, labour)
        about = Finding(cause=root, kind=one.kind, confidence=one.confidence, since=one.since)
        text = sentence(about, losses, priced, one.on_call, context.prices.gpu_hour)
        found[root] = replace(one, losses=losses, bill=priced, sentence=text)
    return found


def restored(ledger: LossLedger, root: str, account: Account) -> None:
    """What is stored of an open incident goes on from where it was."""
    hours = account.lasted_seconds / HOUR
    for loss in account.losses:
        lost = LostHours((loss.share_so_far or 0.0) * hours, loss.down_hours, loss.rework_hours)
        ledger.restore(root, loss.subject, lost, account.since + account.lasted_seconds)


def _shared(
    loss: Loss, lost: LostHours, hours: float, claims: Mapping[str, LossClaim], late: Mapping[str, float]
) -> Loss:
    several = sum(loss.subject in claim.jobs for claim in claims.values())
    return replace(
        loss,
        share_so_far=min(1.0, lost.slow / hours),
        share_now=None if loss.share_now is None else loss.share_now / max(1, several),
        down_hours=lost.down,
        rework_hours=lost.redone,
        milestone_hours=late.get(loss.milestone, 0.0) if loss.milestone else 0.0,
    )


def _late(ledger: LossLedger, accounts: Mapping[str, Account]) -> dict[str, float]:
    """By milestone: hours by which all open incidents together delay it."""
    jobs: dict[str, set[str]] = {}
    for one in accounts.values():
        for loss in one.losses:
            if loss.milestone:
                jobs.setdefault(loss.milestone, set()).add(loss.subject)
    return {milestone: ledger.delay(mine) for milestone, mine in jobs.items()}


def _before(row: Values, since: float, panel: Panel) -> float | None:
    seen = row[(panel.times < since) & np.isfinite(row)]
    return float(np.median(seen)) if len(seen) else None


def _stopped(row: Values, panel: Panel, subject: str) -> Mask:
    """Columns without a step for longer than a pause explains, while the job is there."""
    down = np.zeros(len(row), np.bool_)
    running = {f"job/{job.id}" for job in panel.jobs}
    if running and subject not in running:
        return down
    begun: int | None = None
    for column, silent in enumerate(np.append(np.isnan(row), False)):
        if silent and begun is None:
            begun = column
        elif not silent and begun is not None:
            if begun > 0 and (column - begun) * panel.step > PAUSE_SECONDS:
                down[begun:column] = True
            begun = None
    return down


def _redone(subject: str, panel: Panel) -> list[tuple[float, float]]:
    """Work that a restart repeats: as the job says, or half of its checkpoint interval."""
    found = []
    row = panel.row("job_checkpoint_interval_seconds", subject)
    seen = row[np.isfinite(row)] if row is not None else np.empty(0)
    half = float(np.median(seen)) / 2 if len(seen) else 0.0
    restarts = [one for one in panel.events_of("job_restarted") if one.subject == subject]
    for event in restarts:
        lost = event.detail.get("lost_seconds")
        found.append((event.at, (float(lost) if isinstance(lost, int | float) else half) / HOUR))
    if not restarts:
        found += [(event.at, half / HOUR) for event in panel.events_of("job_failed") if event.subject == subject]
    return [(at, hours) for at, hours in found if hours > 0]
