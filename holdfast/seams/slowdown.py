"""Slowdowns that no cause explains: which jobs, since when, how much, and what was ruled out."""

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.catalog.seam_confidence import calibrated
from holdfast.catalog.seam_signals import signals
from holdfast.model.finding import Finding, Symptom
from holdfast.seams.intermittent import slow_at_times
from holdfast.seams.moved import baseline_columns, median
from holdfast.seams.scene import Scene

STEP, THROUGHPUT = "job_step_seconds", "job_throughput_ratio"
SLOWER = 0.05  # share of a step
SLOW_FOR_SECONDS = 960.0  # other data or longer sequences last less than this
MUCH_SLOWER = 0.5  # share of a step; other data does not slow it by so much
MUCH_SLOWER_FOR_SECONDS = 300.0
LEAST_LOST_SECONDS = 90.0  # a smaller loss is not worth an operator's time
UNEXPLAINED = 0.7  # a raw score: the slowdown is measured, its cause is unknown
AT_TIMES = ", on average: it is intermittent"
PARTS = 4  # parts of the duration of a small slowdown; the job must be slow in each
SPREADS = 5.0  # standard deviations of a median of that many steps
LEAST_READINGS = 8


def findings(scene: Scene, left: Sequence[Symptom], found: Sequence[Finding]) -> Iterator[Finding]:
    """Findings of unexplained slowdowns. `left`: symptoms that no finding explains."""
    explained = {one.cause for one in found} | {victim for one in found for victim in one.victims}
    signs = {one.subject: one for one in left if one.signal == STEP}
    # Any cause that can reach the job explains a small slowdown.
    below = {place for one in found if not one.kind.startswith("sensor.") for place in scene.down(one.cause)}
    small = [one for one in _steady(scene) if one.subject not in scene.moved(STEP) and one.subject not in below]
    said = set()
    for sign in [*signs.values(), *small]:
        if sign.subject not in explained and _matters(scene, sign):
            said.add(sign.subject)
            yield _finding(scene, sign)
    for sign in _at_times(scene):
        if sign.subject not in explained | said | below and _matters(scene, sign):
            yield _finding(scene, sign, AT_TIMES)


def _at_times(scene: Scene) -> Iterator[Symptom]:
    """Jobs that are slow repeatedly and normal in between. Their loss is computed from the mean step since then."""
    table, times = scene.panel.of(STEP), scene.panel.times
    for subject, since in slow_at_times(scene.panel, STEP).items():
        values = table.values[table.index[subject]]
        late = values[times >= since]
        before, now = float(median(values[None, : baseline_columns(times)])[0]), float(np.nanmean(late))
        if before > 0:
            yield Symptom(subject, STEP, since, before, now)


def _matters(scene: Scene, sign: Symptom) -> bool:
    """Whether the job is clearly slower, for some minutes, and its steps are not larger."""
    if sign.subject in scene.idle_jobs:
        return False
    seconds, longer = scene.now - sign.since, sign.now / sign.before - 1
    enough = MUCH_SLOWER_FOR_SECONDS if longer >= MUCH_SLOWER else SLOW_FOR_SECONDS
    lasted = seconds >= enough and longer * seconds >= LEAST_LOST_SECONDS
    made = scene.recent(THROUGHPUT, sign.subject), scene.usual(THROUGHPUT, sign.subject)
    as_much = made[1] > 0 and made[0] >= (1 - SLOWER / 2) * made[1]  # the steps are larger, not slower
    return lasted and longer >= SLOWER and not as_much


def _steady(scene: Scene) -> Iterator[Symptom]:
    """Jobs whose steps vary too much to judge one minute, but that are slow in every part of the last half hour."""
    table, times = scene.panel.of(STEP), scene.panel.times
    if not table.subjects:
        return
    first, columns = baseline_columns(times), round(2 * SLOW_FOR_SECONDS / scene.panel.step)
    if len(times) < first + columns:
        return
    parts = np.array_split(table.values[:, -columns:], PARTS, axis=1)
    levels = np.stack([median(part) for part in parts], axis=1)
    for row, subject in enumerate(table.subjects):
        base = table.values[row, :first]
        base = base[np.isfinite(base)]
        if len(base) < LEAST_READINGS or not np.isfinite(levels[row]).all():
            continue
        before, now = float(np.median(base)), float(np.median(levels[row]))
        spread = 1.4826 * float(np.median(np.abs(base - before))) * 1.25 / np.sqrt(len(base) / 2)
        least = max(SLOWER * before, SPREADS * spread)
        if before > 0 and now - before >= least and float(levels[row].min()) - before >= SLOWER / 2 * before:
            yield Symptom(subject, STEP, float(times[-columns]), before, now)


def _finding(scene: Scene, sign: Symptom, how: str = "") -> Finding:
    well = ruled_out(scene)
    evidence = (
        f"{sign.subject} takes {100 * (sign.now / sign.before - 1):.0f} % longer for a step"
        f" ({sign.before:.3g} s before, {sign.now:.3g} s now), for {(scene.now - sign.since) / 60:.0f} min{how}",
        "ruled out, measured and normal: " + (", ".join(well) if well else "nothing, because nothing else is measured"),
    )
    return Finding(
        cause=sign.subject,
        kind="job.slowdown",
        confidence=round(calibrated(UNEXPLAINED), 3),
        raw=UNEXPLAINED,
        since=sign.since,
        path=(sign.subject,),
        symptoms=(sign,),
        evidence=evidence,
        owners=tuple(filter(None, (scene.topology.owner(sign.subject),))),
        runbook="job.slowdown",
        unknown=("why it is slower: no cause that Holdfast knows explains it",),
    )


def ruled_out(scene: Scene) -> list[str]:
    """Domains that have instruments, none of which changed."""
    moved: dict[str, bool] = {}
    for name in scene.panel.tables:
        fact = signals().get(name)
        if fact is not None and fact.domain not in ("runtime", "schedule") and scene.seen(name):
            moved[fact.domain] = moved.get(fact.domain, False) or bool(scene.moved(name))
    return sorted(domain for domain, any_moved in moved.items() if not any_moved)
