"""Attributes the losses of jobs to open incidents and prices them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from holdfast.economics.costs.finding import bill
from holdfast.economics.costs.ledger import HOUR, Float, LossClaim, LossLedger, LossSeries, LostHours
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.past import sentence
from holdfast.fleet.incidents.stops import JobStops
from holdfast.model.account import Account, Loss
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel, Values

RECENT_SECONDS = 120.0
STANDS = 0.01  # share of its usual throughput


def losses_of(subject: str, loss: Loss, since: float, panel: Panel, stops: JobStops | None = None) -> LossSeries | None:
    """Losses of one job or path, per column and per stop; None if it is not measured."""
    measured = _columns(subject, loss, since, panel)
    if measured is None and (stops is None or not (stops.spans or stops.redone)):
        return None
    nothing = np.zeros(len(panel.times))
    slow, down = measured if measured is not None else (nothing, nothing)
    spans = stops.spans if stops is not None else ()
    works = 1.0 - _stood(panel, spans)  # stops are counted separately, to the second
    return LossSeries(
        times=panel.times.tolist(), step=panel.step, slow=(slow * works).tolist(), down=(down * works).tolist(),
        redone=_redone(subject, panel, stops), stops=spans, settled=stops.settled if stops is not None else None,
    )  # fmt: skip


def _columns(subject: str, loss: Loss, since: float, panel: Panel) -> tuple[Values, Values] | None:
    """For each column the share lost to slowness and the share without progress, from throughput, stall or step
    time."""
    ratio, stall = panel.row("job_throughput_ratio", subject), panel.row("pool_stall_ratio", subject)
    nothing = np.zeros(len(panel.times), np.float32)
    if ratio is not None and np.isfinite(ratio).any():
        made = np.nan_to_num(ratio, nan=1.0)
        down = made <= STANDS
        return np.where(down, 0.0, np.clip(1.0 - made, 0.0, 1.0)), down.astype(np.float32)
    if stall is not None:
        usual = loss.usual if loss.usual is not None else _before(stall, since, panel)
        return np.clip(np.nan_to_num(stall, nan=usual or 0.0) - (usual or 0.0), 0.0, 1.0), nothing
    row = panel.row("job_step_seconds", subject)
    usual = loss.usual if loss.usual is not None else _before(row, since, panel) if row is not None else None
    if row is None or not usual:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isfinite(row), np.clip(1.0 - usual / row, 0.0, 1.0), 0.0), nothing


def _stood(panel: Panel, spans: Sequence[tuple[float, float]]) -> Values:
    """For each column the share that is part of a stop."""
    share = np.zeros(len(panel.times))
    for begin, end in spans:
        inside = np.minimum(panel.times, end) - np.maximum(panel.times - panel.step, begin)
        share += np.clip(inside, 0.0, None) / (panel.step or 1.0)
    return np.clip(share, 0.0, 1.0).astype(np.float32)


def usual_of(subject: str, since: float, panel: Panel) -> float | None:
    """The baseline of its step time or stall, from the window before the incident began."""
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
    stops: Mapping[str, JobStops] | None = None,
) -> dict[str, Account]:
    """The accounts with the cost of each incident. Two incidents on one job share its hours. `worked`: hours since an
    operator acknowledged the incident. `stops`: stops of jobs, from their reported steps."""
    stood = stops or {}
    claims = {
        root: LossClaim(one.since, frozenset(loss.subject for loss in one.losses)) for root, one in accounts.items()
    }
    losses_by_job: dict[str, LossSeries] = {}
    for one in accounts.values():
        for loss in one.losses:
            if loss.subject in losses_by_job:
                continue
            series = losses_of(loss.subject, loss, one.since, panel, stood.get(loss.subject))
            if series is not None:
                losses_by_job[loss.subject] = series
    floats = {
        job: Float(milestone.name, 24 * milestone.float_days)
        for job in context.jobs
        if (milestone := context.milestone_of(job)) is not None
    }
    ledger.attribute(losses_by_job, claims, floats)
    found = {}
    for root, one in accounts.items():
        hours = max(one.lasted_seconds / HOUR, 1e-9)
        losses = tuple(
            _shared(loss, root, ledger, hours, claims, floats)
            if loss.subject in losses_by_job or ledger.of(root, loss.subject).hours
            else loss
            for loss in (_now(loss, losses_by_job.get(loss.subject), stood.get(loss.subject)) for loss in one.losses)
        )
        labour = (worked or {}).get(root)
        priced = bill(losses, context.prices, one.lasted_seconds / HOUR, context.horizon_hours, labour)
        about = Finding(cause=root, kind=one.kind, confidence=one.confidence, since=one.since)
        text = sentence(about, losses, priced, one.on_call, context.prices.gpu_hour)
        found[root] = replace(one, losses=losses, bill=priced, sentence=text)
    return found


def restored(ledger: LossLedger, root: str, account: Account) -> None:
    """Continues the ledger of an open incident from its stored account."""
    hours = account.lasted_seconds / HOUR
    for loss in account.losses:
        slow = (loss.share_so_far or 0.0) * hours
        lost = LostHours(slow, loss.down_hours, loss.rework_hours, loss.slip_hours or 0.0)
        until = account.since + account.lasted_seconds if loss.counted_until is None else loss.counted_until
        ledger.restore(root, loss.subject, lost, until)


def _now(loss: Loss, series: LossSeries | None, stops: JobStops | None) -> Loss:
    """The current loss: everything while the job is stopped, otherwise as its step times show."""
    if stops is None:
        return loss
    usual = loss.usual if loss.usual is not None else stops.usual
    if stops.goes_on:
        return replace(loss, share_now=1.0, stopped_since=stops.since, last_step=stops.step, usual=usual)
    share = loss.share_now
    if series is not None and (share is None or loss.stopped_since is not None):
        recent = [
            slow + down
            for at, slow, down in zip(series.times, series.slow, series.down, strict=True)
            if at > series.times[-1] - RECENT_SECONDS
        ]
        share = median(recent) if recent else None
    return replace(loss, share_now=share, stopped_since=None, last_step=-1, usual=usual)


def _shared(
    loss: Loss,
    root: str,
    ledger: LossLedger,
    hours: float,
    claims: Mapping[str, LossClaim],
    floats: Mapping[str, Float],
) -> Loss:
    several = sum(loss.subject in claim.jobs for claim in claims.values())
    lost = ledger.of(root, loss.subject)
    late = loss.subject in floats
    return replace(
        loss,
        share_so_far=min(1.0, lost.slow / hours),
        share_now=None if loss.share_now is None else loss.share_now / max(1, several),
        down_hours=lost.down,
        rework_hours=lost.redone,
        slip_hours=lost.slip if late else None,
        slack_hours=ledger.slack(loss.subject, floats) if late else 0.0,
        counted_until=ledger.until(loss.subject),
    )


def _before(row: Values, since: float, panel: Panel) -> float | None:
    seen = row[(panel.times < since) & np.isfinite(row)]
    return float(np.median(seen)) if len(seen) else None


def _redone(subject: str, panel: Panel, stops: JobStops | None) -> list[tuple[float, float]]:
    """Work that a restart repeats: from its steps, from the job's own report, or half of its checkpoint interval."""
    if stops is not None and stops.step >= 0:
        return list(stops.redone)
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
