"""Losses of the affected jobs and pools, measured in the window, and the hours that people worked on an incident."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.fleet.incidents.attribution import RECENT_SECONDS, usual_of
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.model.account import Loss
from holdfast.model.finding import Finding
from holdfast.model.inbox import ItemRecord
from holdfast.model.panel import Panel, Values
from holdfast.model.topology import Topology

BASELINE_SECONDS = 1_800.0
HOUR = 3600.0
SLOWER_IS_LONGER = ("job_step_seconds", "request_latency_seconds", "pool_transfer_seconds")


def losses(
    finding: Finding, panel: Panel, topology: Topology, context: BusinessContext, before: Sequence[Loss] = ()
) -> tuple[Loss, ...]:
    """Losses of every job and path that the finding affects or affected. A signal that stopped keeps its last value,
    because silence is not recovery."""
    known = {one.subject: one for one in before}
    found = [_loss(subject, finding, panel, topology, context) for subject in dict.fromkeys([*_hurt(finding), *known])]
    return tuple(
        known.get(one.subject, one) if one.share_now is None else _with_the_past(one, known.get(one.subject))
        for one in found
    )


def _with_the_past(now: Loss, before: Loss | None) -> Loss:
    """Keeps the baseline from the start of the incident, because the window drops it."""
    return now if before is None or before.usual is None else replace(now, usual=before.usual)


def _hurt(finding: Finding) -> list[str]:
    reached = {place.strip() for line in finding.path for place in line.split(">")} | finding.victims
    wholes = {"/".join(one.split("/")[:2]) for one in reached | {finding.cause} if one.startswith(("job/", "path/"))}
    return sorted(wholes)


def _loss(subject: str, finding: Finding, panel: Panel, topology: Topology, context: BusinessContext) -> Loss:
    job, milestone = context.jobs.get(subject), context.milestone_of(subject)
    so_far, now = _shares(subject, finding.since, panel)
    return Loss(
        subject=subject,
        gpus=job.gpus if job is not None and job.gpus is not None else _gpus(subject, panel, topology),
        share_so_far=so_far,
        share_now=now,
        usual=usual_of(subject, finding.since, panel),
        tokens_per_second=job.tokens_per_second if job else None,
        milestone=milestone.name if milestone else "",
        day_value=milestone.value_per_day if milestone else None,
        float_days=milestone.float_days if milestone else 0.0,
        critical_chance=milestone.critical_chance if milestone else 1.0,
        scheduled_as=_scheduled_as(subject, panel, topology),
    )


def _scheduled_as(subject: str, panel: Panel, topology: Topology) -> str:
    """The scheduler's job on the same nodes. A training job reports under the name of its run, the scheduler under an
    id."""
    if not subject.startswith("job/") or any(subject == f"job/{job.id}" for job in panel.jobs):
        return ""
    nodes = {one.removeprefix("node/") for one in topology.up(subject, ("runs_on",)) if one.count("/") == 1}
    held = (job for job in panel.jobs if not job.step and nodes & {*job.nodes})
    return next((job.shown_as or job.id for job in held), "")


def _shares(subject: str, since: float, panel: Panel) -> tuple[float | None, float | None]:
    """Lost share of the throughput: average since the incident began, and now; None if not measured."""
    lost = _lost_over_time(subject, since, panel)
    if lost is None:
        return None, None
    during, recent = lost[panel.times >= since], lost[panel.times > panel.now - RECENT_SECONDS]
    return _middle(during, np.mean), _middle(recent, np.median)


def _lost_over_time(subject: str, since: float, panel: Panel) -> Values | None:
    ratio = panel.row("job_throughput_ratio", subject)
    if ratio is not None:
        return np.asarray(np.clip(1.0 - ratio, 0.0, 1.0), np.float32)
    stall = panel.row("pool_stall_ratio", subject)
    if stall is not None:
        usual_stall = usual_of(subject, since, panel) or 0.0
        return np.asarray(np.clip(stall - usual_stall, 0.0, 1.0), np.float32)
    for name in SLOWER_IS_LONGER:
        row = panel.row(name, subject)
        before = (panel.times < since) & (panel.times >= since - BASELINE_SECONDS)
        if row is not None and np.isfinite(row[before]).any() and (usual := float(np.nanmedian(row[before]))) > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                lost: Values = np.clip(1.0 - usual / row, 0.0, 1.0).astype(np.float32)
            return lost
    return None


def _middle(values: Values, of: Callable[[Values], np.floating[Any]]) -> float | None:
    seen = values[np.isfinite(values)]
    return float(of(seen)) if len(seen) else None


def _gpus(subject: str, panel: Panel, topology: Topology) -> float | None:
    """Number of GPUs: from its nodes if known, else from the scheduler."""
    parts = subject.removeprefix("path/").split("-") if subject.startswith("path/") else ()
    places = [f"pool/{one}" for one in parts] or [subject]
    nodes = {one for place in places for one in topology.up(place, ("runs_on",)) if one.startswith("node/")}
    held = {one for one in panel.of("gpu_temperature_celsius").subjects if one.partition("/gpu/")[0] in nodes}
    if held:
        return float(len(held))
    return next((float(job.gpus) for job in panel.jobs if f"job/{job.id}" == subject and job.gpus), None)


def item_key(incident_id: str) -> str:
    """The key of an incident in the inbox."""
    return f"incident/{incident_id}"


def hours_worked(ids: Mapping[str, str], records: Mapping[str, ItemRecord], now: float) -> dict[str, float]:
    """Hours by root cause, from the acknowledgement to the resolution or until now.

    `ids` has the incident of each root cause. Incidents without an acknowledgement are left out.
    """
    found = {}
    for root, incident_id in ids.items():
        record = records.get(item_key(incident_id))
        if record is not None and record.acknowledged_at is not None:
            until = record.resolved_at if record.resolved_at is not None else now
            found[root] = max(0.0, until - record.acknowledged_at) / HOUR
    return found
