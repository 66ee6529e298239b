"""Situations of the families from `fifth` on, in addition to those of all families: calm, announced, and
undocumented."""

from collections.abc import Callable

import numpy as np

from holdfast.lab.drills.wide.stager import Situation, Stager
from holdfast.seams.planned import PlannedWork


def job_restarts(s: Stager) -> Situation:
    """A job fails and is back after its usual restart time."""
    work = s.site.works[0]
    until = s.start + work.restart
    s.conditions.down.append((work.name, s.start, until))
    s.add_event("job_failed", work.subject, s.start, "died")
    s.add_event("job_restarted", work.subject, until, recovery_seconds=f"{work.restart:.0f}")
    return Situation()


def backup(s: Stager) -> Situation:
    """For a quarter of an hour, other traffic on every link and slightly slower storage."""
    during = (s.times >= s.start) & (s.times < s.start + 900)
    s.conditions.foreign += s.unfelt(s.between(0.02, 0.08)) * during
    s.conditions.burst *= 1 + 0.2 * during
    return Situation(needed=("link_utilization_ratio",))


def two_changes(s: Stager) -> Situation:
    """Less work and a warmer afternoon at the same time."""
    s.conditions.work_draw[s.site.works[0].name] *= 1 - s.between(0.1, 0.4) * s.level(steady=True)
    s.conditions.ambient += s.between(1.0, 2.5) * np.clip((s.times - 0.3 * s.lasts) / 1800, 0, 1)
    return Situation()


def recalibrated(s: Stager) -> Situation:
    """All meters of one unit are recalibrated, by less than an operator would act on."""
    unit = s.pick(len(s.site.cdus))
    s.conditions.supply[unit] += s.between(-0.6, 0.6) * (s.times >= s.start)
    return Situation()


def planned_switch(s: Stager) -> Situation:
    leaf = int(s.site.leaf_of[s.work_node()])
    share = s.between(0.3, 0.6) * s.level(steady=True)
    s.conditions.link[leaf * s.site.spines : (leaf + 1) * s.site.spines] *= 1 - share
    work = PlannedWork(
        name="switch software", what="fabric", subjects=(s.site.leaves[leaf],), start=s.start - 120, end=s.lasts + 900
    )
    return Situation(planned=(work,), needed=("link_bandwidth_bytes_per_second",))


def planned_storage(s: Stager) -> Situation:
    s.conditions.store *= 1 - s.between(0.3, 0.6) * s.level(steady=True)
    work = PlannedWork(
        name="rebuild of a disk group", what="storage", subjects=("storage/scratch",), start=s.start - 10,
        end=s.lasts + 1800,
    )  # fmt: skip
    return Situation(planned=(work,), needed=("storage_latency_seconds", "job_checkpoint_seconds"))


def wears_out(s: Stager) -> Situation:
    """Memory fragmentation: the step time grows a little with every minute."""
    work = s.site.works[0]
    grown = np.clip((s.times - s.start) / (0.4 * s.lasts), 0, 1)
    s.conditions.work_slow[work.name] *= 1 + s.between(0.15, 0.35) * grown
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


def pauses(s: Stager) -> Situation:
    """Some steps take twice as long, for example because of a garbage collector or a logger that blocks."""
    work = s.site.works[0]
    late = (s.times >= s.start) * (s.rng.random(len(s.times)) < 0.2)
    s.conditions.work_slow[work.name] *= 1 + s.between(0.1, 0.2) * (s.times >= s.start) + 0.5 * late
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


MORE_CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.job_restarts": job_restarts, "calm.backup": backup, "calm.two_changes": two_changes,
    "calm.recalibrated": recalibrated, "planned.switch": planned_switch, "planned.storage": planned_storage,
}  # fmt: skip
MORE_UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {"unknown.wears_out": wears_out, "unknown.pauses": pauses}
