"""Situations of the families from `seventh` on, in addition to those of the others.

Documented faults by other mechanisms, two at once or during announced work; calm hours, announced work and undocumented
slowdowns.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from holdfast.lab.drills.wide import background, more_situations
from holdfast.lab.drills.wide.faults import flow_low, gpu_slow, leaf, psu, uplink, write_slow
from holdfast.lab.drills.wide.stager import Situation, Stager, cdu_of_work
from holdfast.seams.planned import PlannedWork


def clogged(s: Stager) -> Situation:
    """A filter clogs: the pump turns faster and the unit delivers less."""
    found = flow_low(s)
    unit = s.site.cdus.index(found.truths[0].cause)
    s.conditions.pump[unit] *= 1 + s.between(0.08, 0.2) * s.level()
    return found


def routing(s: Stager) -> Situation:
    """A leaf's traffic moves onto one uplink. If the job stays within its leaf, it has no traffic there; then an
    uplink fails."""
    if len(np.unique(s.site.leaf_of[s.site.works[0].nodes])) == 1:
        return uplink(s)
    place = int(s.site.leaf_of[s.work_node()])
    links = place * s.site.spines + np.arange(s.site.spines)
    moved = s.between(0.4, 0.9) * (s.level(steady=True) > 0)
    s.conditions.routes[links[1:]] *= 1 - moved
    s.conditions.routes[links[0]] += moved * (s.site.spines - 1)
    s.add_event("route_change", s.site.leaves[place], s.start, "forwarding tables changed")
    return Situation(
        truths=(s.truth(s.site.leaves[place], "fabric.routing"),),
        needed=("link_congestion_ratio", "link_utilization_ratio", "job_collective_seconds"),
    )


def two_faults(s: Stager) -> Situation:
    """Two faults in different domains, the second some minutes after the first."""
    pairs: tuple[tuple[Callable[[Stager], Situation], ...], ...] = (
        (flow_low, write_slow), (psu, uplink), (gpu_slow, psu), (uplink, write_slow),
    )  # fmt: skip
    first, second = pairs[s.pick(len(pairs))]
    one = first(s)
    s.start += s.between(120, 500)
    other = second(s)
    return Situation(truths=one.truths + other.truths, needed=one.needed + other.needed)


def beside_storage_work(s: Stager) -> Situation:
    """A fault during announced work on storage."""
    fault = (flow_low, psu, uplink, leaf)[s.pick(4)](s)
    work = more_situations.planned_storage(s)
    return replace(fault, planned=work.planned, needed=fault.needed + work.needed)


def beside_cooling_work(s: Stager) -> Situation:
    """A fault while the chilled water of the hall gets another set point, as announced."""
    fault = (write_slow, uplink, psu)[s.pick(3)](s)
    work = background.planned_hall(s)
    return replace(fault, planned=work.planned, needed=fault.needed + work.needed)


def larger_steps(s: Stager) -> Situation:
    """Sequences get longer: each step takes longer and does proportionally more work."""
    s.conditions.work_larger[s.site.works[0].name] *= 1 + s.between(0.1, 0.5) * s.level(steady=True)
    return Situation(needed=("job_throughput_ratio",))


def exporter_restarts(s: Stager) -> Situation:
    """The exporter of all nodes restarts: no GPU is read for some minutes."""
    return Situation(silent=((("node/",), -s.start),))


def larger_checkpoints(s: Stager) -> Situation:
    """Checkpoints grow, for example by the optimizer state: they take longer at the usual write speed."""
    work = s.site.works[0]
    s.conditions.size[work.name] = 1 + s.between(0.5, 1.5) * (s.times >= s.start).astype(np.float64)
    return Situation(
        needed=("job_checkpoint_seconds", "storage_latency_seconds", "storage_write_bytes_per_second"),
        tolerated=frozenset({(work.subject, "job.slowdown")}),
    )


def spike(s: Stager) -> Situation:
    """A valve of one unit hangs for a minute: a short rise of the water temperature, too short to act on."""
    until = s.start + s.between(40, 70)
    s.conditions.supply[cdu_of_work(s)] += s.between(3, 8) * ((s.times >= s.start) & (s.times < until))
    return Situation()


def uneven_data(s: Stager) -> Situation:
    """Batches vary more than before; the mean step time is unchanged."""
    work, late = s.site.works[0], s.times >= s.start
    spread = s.between(0.03, 0.08) * s.rng.standard_normal(len(s.times)).clip(-2, 2)
    s.conditions.work_slow[work.name] *= 1 + (spread - spread[late].mean()) * late
    return Situation()


def pump_test(s: Stager) -> Situation:
    until, unit = s.start + s.between(200, 600), cdu_of_work(s)
    during = (s.times >= s.start) & (s.times < until)
    s.conditions.flow[unit] *= 1 + 0.08 * during
    s.conditions.pump[unit] *= 1 + 0.08 * during
    return Situation()


def planned_feed_cap(s: Stager) -> Situation:
    """Demand response: the grid requests less load, and all GPUs behind the feed get a lower power limit."""
    lost, side = s.between(0.2, 0.45), s.pick(2)
    level = s.level(steady=True) > 0
    s.conditions.limit *= 1 - lost * level
    s.conditions.feed_limit[side] *= 1 - lost * level
    work = PlannedWork(
        name="demand response", what="power", subjects=(f"feed/{'xy'[side]}",), start=s.start - 30, end=s.lasts + 900
    )
    return Situation(
        planned=(work,), needed=("gpu_power_limit_watts", "gpu_clock_event_reasons", "feed_power_limit_watts")
    )


def stairs(s: Stager) -> Situation:
    """Two slowdowns some minutes apart that no meter shows."""
    work, first = s.site.works[0], s.between(0.08, 0.15)
    later = s.times >= s.start + s.between(250, 500)
    s.conditions.work_slow[work.name] *= 1 + first * (s.times >= s.start) + s.between(0.08, 0.2) * later
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


def every_job(s: Stager) -> Situation:
    """All jobs slow down equally, because of something shared that no meter covers."""
    share = s.between(0.1, 0.3)
    running = [work for work in s.site.works if work.begins < 0 and work.ends > 2 * s.lasts]
    for work in running:
        s.conditions.work_slow[work.name] *= 1 + share * s.level(steady=True)
    return Situation(truths=tuple(s.truth(work.subject, "job.slowdown") for work in running))


OTHER_FAULTS: dict[str, Callable[[Stager], Situation]] = {
    "cooling.flow_low+clogged": clogged, "fabric.routing": routing, "two.faults": two_faults,
    "beside.storage_work": beside_storage_work, "beside.cooling_work": beside_cooling_work,
}  # fmt: skip
OTHER_CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.larger_steps": larger_steps, "calm.exporter_restarts": exporter_restarts,
    "calm.larger_checkpoints": larger_checkpoints, "calm.spike": spike, "calm.uneven_data": uneven_data,
    "calm.pump_test": pump_test, "planned.feed_cap": planned_feed_cap,
}  # fmt: skip
OTHER_UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {
    "unknown.stairs": stairs, "unknown.every_job": every_job
}  # fmt: skip
