"""Intermittent faults: the panel reduced to the times at which they are present.

A fault that lasts one minute in five ends before three readings show it. If a row deviated several times since the
baseline, the columns of these episodes are put side by side. Rules then see the fault as if it were permanent.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.catalog.seam_confidence import calibrated
from holdfast.catalog.seam_signals import SeamSignal, signals
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel, SignalTable, Values
from holdfast.seams.evidence import is_plain
from holdfast.seams.moved import NOISES, ROUNDING, TINY, baseline_columns, cadence, median, resolution
from holdfast.seams.persistence import COMES_AND_GOES

Mask = npt.NDArray[np.bool_]
WATCHED = (
    "cdu_flow_litres_per_minute", "cdu_supply_celsius", "rack_flow_litres_per_minute", "rack_inlet_celsius",
    "link_bandwidth_bytes_per_second", "link_congestion_ratio", "link_errors_per_second", "pool_transfer_seconds",
    "gpu_clock_sm_hertz", "job_collective_seconds", "job_step_seconds",
)  # fmt: skip
"""Signals with few rows, of which at least one shows an intermittent fault."""
CLOCK = "gpu_clock_sm_hertz"
OF_ALL = 0.1  # share of GPUs; if more clock down together, their job pauses
OF_WORK = ("gpu_clock_sm_hertz", "job_collective_seconds", "job_step_seconds")
EPISODES = 3
LEAST_READINGS = 2  # least readings of an episode, so that a single outlier does not count
OF_COOLING = 3.0  # times the usual limit: control, valves and load change the coolant all the time
OF_OTHERS = 1.5
MOST_OF_THE_TIME = 0.5  # share of the time since the first episode; the rules find longer faults without folding
FOLDED_SECONDS = 240.0  # of all episodes; for a longer fault, a rule would also expect slow effects such as heat
LEAST_FOLDED_SECONDS = 100.0
KINDS = ("cooling.", "power.", "fabric.", "pools.", "storage.", "gpu.slow", "node.slow", "job.rank_slow")
SWINGS = "cooling.pump_oscillation"  # always intermittent
LEAST_RAW = 0.85
MANY_EPISODES = 4
LEAST_RAW_OF_MANY = 0.75  # one sensor that shows it this often is enough
MOST_RAW = 0.9
MOST_CONFIDENCE = 0.79


class Folded(NamedTuple):
    panel: Panel
    since: float
    episodes: int
    seconds: float  # total length of the episodes


def folded(panel: Panel) -> Folded | None:
    """The folded panel; None if nothing is intermittent."""
    first = baseline_columns(panel.times)
    best: Mask | None = None
    strength = 0.0
    for name in WATCHED:
        table = panel.of(name)
        if not table.subjects or (name in OF_WORK and best is not None):
            continue  # a change of the cause itself is better evidence than a change of a victim
        beyond = _beyond(table, first, signals()[name])
        if name == CLOCK:
            beyond[:, (beyond >= 1.0).mean(axis=0) > OF_ALL] = 0.0
        far = OF_COOLING if name.startswith(("cdu_", "rack_")) else OF_OTHERS
        for row in np.flatnonzero((beyond >= far).sum(axis=1) >= EPISODES * LEAST_READINGS):
            mask = _episodes(beyond[row] >= far, LEAST_READINGS * cadence(table), first)
            if mask is not None and (found := float(beyond[row][mask].sum())) > strength:
                best, strength = mask, found
    return None if best is None else _fold(panel, best, first)


def slow_at_times(panel: Panel, name: str) -> dict[str, float]:
    """Rows that were abnormal several times since the baseline, with the start of the first time."""
    table, first = panel.of(name), baseline_columns(panel.times)
    beyond, least = _beyond(table, first, signals()[name]) >= 1.0, LEAST_READINGS * cadence(table)
    found = {}
    for subject, over in zip(table.subjects, beyond, strict=True):
        mask = _episodes(over, least, first)
        if mask is not None:
            found[subject] = float(panel.times[int(np.argmax(mask))])
    return found


def _beyond(table: SignalTable, first: int, fact: SeamSignal) -> Values:
    """Deviation of each reading in the harmful direction; from 1 on, above its noise and its previous extremes."""
    base = table.values[:, :first]
    center = median(base)[:, None]
    change = table.values - center
    change = np.abs(change) if fact.bad == "either" else change if fact.bad == "up" else -change
    noise = np.maximum(1.4826 * median(np.abs(base - center)), ROUNDING * resolution(base))[:, None]
    least = np.maximum(fact.least_absolute, fact.least_ratio * np.abs(center))
    with np.errstate(invalid="ignore"):
        usual = np.nan_to_num(np.where(np.isnan(base), -np.inf, change[:, :first]).max(axis=1, initial=0.0))[:, None]
    edge = np.maximum(np.maximum(least, NOISES * noise), usual)
    found: Values = np.nan_to_num(change / np.maximum(edge, TINY)).astype(np.float32)
    return found


def _episodes(over: Mask, least: int, first: int) -> Mask | None:
    """The columns of a row's episodes, without short ones; None if there are too few, or nearly all columns deviate."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], over, [False]]).astype(np.int8)))
    spans = zip(ends[::2], ends[1::2], strict=True)
    runs = [(begin, end) for begin, end in spans if end - begin >= least and begin >= first]
    if len(runs) < EPISODES:
        return None
    mask = np.zeros(len(over), np.bool_)
    for begin, end in runs:
        mask[begin:end] = True
    return mask if mask[runs[0][0] :].mean() <= MOST_OF_THE_TIME else None


def _fold(panel: Panel, mask: Mask, first: int) -> Folded | None:
    late = np.flatnonzero(mask)
    chosen = late[-round(FOLDED_SECONDS / panel.step) :]
    if len(chosen) * panel.step < LEAST_FOLDED_SECONDS:
        return None
    columns = np.concatenate([np.arange(first), chosen])
    # Jobs are compared with the time between the episodes: a job that is slow in between is not an effect of them.
    between = np.flatnonzero(~mask[late[0] :]) + late[0]
    apart = np.concatenate([between[np.linspace(0, len(between) - 1, first).astype(int)], chosen])
    tables = {
        name: SignalTable(table.subjects, table.values[:, apart if signals()[name].domain == "runtime" else columns])
        for name, table in panel.tables.items()
        if name in signals() and not signals()[name].sparse
    }
    times = panel.times[: len(columns)]
    begins = int((np.diff(mask.astype(np.int8)) == 1).sum())
    made = Panel(times, tables, (), panel.jobs)
    return Folded(made, float(panel.times[late[0]]), begins, len(late) * panel.step)


def as_intermittent(found: Finding, fold: Folded, now: float) -> Finding | None:
    """The finding in real time, if its kind may be intermittent and its evidence is strong."""
    least = LEAST_RAW_OF_MANY if fold.episodes >= MANY_EPISODES else LEAST_RAW
    if not found.kind.startswith(KINDS) or found.kind == SWINGS or found.raw < least:
        return None
    text = (
        f"{COMES_AND_GOES}: {fold.episodes} times in {(now - fold.since) / 60:.0f} min,"
        f" {fold.seconds:.0f} s in all; the evidence is of those times"
    )
    raw = min(found.raw, MOST_RAW)
    symptoms = tuple(one._replace(since=fold.since) for one in found.symptoms)
    # The deviation itself selected the columns, so only a state that a device reports is certain.
    confidence = calibrated(raw) if is_plain(found) else min(calibrated(raw), MOST_CONFIDENCE)
    return replace(
        found, since=fold.since, raw=raw, confidence=round(confidence, 3), symptoms=symptoms,
        evidence=(text, *found.evidence),
    )  # fmt: skip
