"""Situations of a random site: a documented fault, a calm hour with its own changes, announced work, or a cause that
no meter shows."""

from collections.abc import Callable

import numpy as np

from holdfast.lab.drills.wide.background import NEW_CALM, NEW_UNDOCUMENTED
from holdfast.lab.drills.wide.faults import FAULTS
from holdfast.lab.drills.wide.field import FIELD_CALM, FIELD_UNDOCUMENTED
from holdfast.lab.drills.wide.more_situations import MORE_CALM, MORE_UNDOCUMENTED
from holdfast.lab.drills.wide.stager import Situation, Stager, cap_rack, cdu_of_work, rack_of_work
from holdfast.lab.drills.wide.strangers import OTHER_CALM, OTHER_FAULTS, OTHER_UNDOCUMENTED
from holdfast.seams.planned import PlannedWork

SERVING = ("pools.path", "pools.imbalance", "calm.requests_up", "calm.requests_down")


def quiet(s: Stager) -> Situation:
    return Situation()


def job_ends(s: Stager) -> Situation:
    s.conditions.ends[s.site.works[-1].name] = s.start
    return Situation()


def job_starts(s: Stager) -> Situation:
    s.conditions.begins[s.site.works[-1].name] = s.start
    return Situation()


def lighter(s: Stager) -> Situation:
    s.conditions.work_draw[s.site.works[0].name] *= 1 - s.between(0.15, 0.5) * s.level(steady=True)
    return Situation()


def heavier(s: Stager) -> Situation:
    s.conditions.work_draw[s.site.works[0].name] *= 1 + s.between(0.05, 0.25) * s.level(steady=True)
    return Situation()


def requests_up(s: Stager) -> Situation:
    s.conditions.requests *= 1 + s.between(0.3, 0.7) * s.level(steady=True)
    return Situation(needed=("pool_transfer_seconds",))


def store_burst(s: Stager) -> Situation:
    until = s.start + s.between(60, 500)
    s.conditions.burst *= 1 + s.between(0.3, 3.0) * ((s.times >= s.start) & (s.times < until))
    return Situation(needed=("storage_latency_seconds",))


def quota(s: Stager) -> Situation:
    """One job gets a lower write quota; storage is as fast as before for all others."""
    work = s.site.works[-1]
    s.conditions.quota[work.name] = 1 - s.between(0.3, 0.6) * (s.level(steady=True) > 0).astype(np.float64)
    return Situation(
        needed=("job_checkpoint_seconds", "storage_write_bytes_per_second", "storage_latency_seconds"),
        tolerated=frozenset({(work.subject, "job.slowdown")}),
    )


def warm_day(s: Stager) -> Situation:
    s.conditions.ambient += s.between(1.5, 3.0) * np.clip((s.times - 0.2 * s.lasts) / 2400, 0, 1)
    return Situation()


def gap(s: Stager) -> Situation:
    """A gateway restarts: a family of meters is silent for some minutes."""
    return Situation(silent=((("cdu/", "rack/"), -s.start),))


def bmc_zero(s: Stager) -> Situation:
    """Several BMCs report their fans at 0; the GPUs are as cool as before."""
    nodes = s.rng.choice(s.site.nodes, min(6, s.site.nodes // 2), replace=False)
    shared = [*s.site.racks, *s.site.cdus, *s.site.rooms]
    known = frozenset(
        (name, kind) for name in [*(s.site.node_names[node] for node in nodes), *shared]
        for kind in ("sensor.absurd", "sensor.stuck", "sensor.lost", "sensor.drift")
    )  # fmt: skip
    return Situation(
        needed=("fan_speed_ratio",), tolerated=known,
        sensor=("zero", "fan_speed_ratio", " ".join(s.site.node_names[node] for node in nodes), s.start),
    )  # fmt: skip


def rerouted(s: Stager) -> Situation:
    s.add_event("route_change", s.site.leaves[s.pick(len(s.site.leaves))], s.start, "forwarding tables changed")
    s.add_event(
        "driver_rollout", s.site.node_names[s.pick(s.site.nodes)], s.start + 100, "driver-1", version="driver-1"
    )
    s.add_event("xid", s.site.gpu_names[s.pick(len(s.site.gpu_names))], s.start + 200, "Xid 13")
    return Situation()


def planned_cap(s: Stager) -> Situation:
    rack = rack_of_work(s)
    cap_rack(s, rack, s.between(0.25, 0.5))
    work = PlannedWork(
        name="grid event", what="power", subjects=(s.site.racks[rack],), start=s.start - 30, end=s.lasts + 3600
    )
    return Situation(planned=(work,), needed=("gpu_power_limit_watts", "gpu_clock_event_reasons"))


def planned_cooling(s: Stager) -> Situation:
    unit = cdu_of_work(s)
    s.conditions.flow[unit] *= 1 - s.between(0.3, 0.6) * s.level(steady=True)
    work = PlannedWork(
        name="filter change", what="cooling", subjects=(s.site.cdus[unit],), start=s.start - 60, end=s.lasts + 3600
    )
    return Situation(planned=(work,), needed=("cdu_flow_litres_per_minute",))


def slower(s: Stager) -> Situation:
    """A cause that no meter shows: all ranks of one job slow down equally."""
    work = s.site.works[0]
    s.conditions.work_slow[work.name] *= 1 + s.between(0.09, 0.25) * s.level(steady=True)
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


def slow_node(s: Stager) -> Situation:
    """All ranks of a node are slower although its GPUs are healthy: a slow bus, or another process on the host."""
    node = s.work_node()
    s.conditions.rank[s.site.node_of_gpu == node] *= 1 + s.between(0.12, 0.4) * s.level(steady=True)
    work = s.site.works[0]
    first = int(np.flatnonzero(work.nodes == node)[0]) * s.site.per_node
    ranks = tuple((f"{work.subject}/rank/{first + one}", "job.rank_slow") for one in range(s.site.per_node))
    return Situation(
        truths=(s.truth(s.site.node_names[node], "node.slow", (work.subject, "job.slowdown"), *ranks),),
        needed=("rank_compute_seconds",),
    )


CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.quiet": quiet, "calm.job_ends": job_ends, "calm.job_starts": job_starts, "calm.lighter": lighter,
    "calm.heavier": heavier, "calm.requests_up": requests_up, "calm.store_burst": store_burst, "calm.quota": quota,
    "calm.warm_day": warm_day, "calm.gap": gap, "calm.bmc_zero": bmc_zero, "calm.rerouted": rerouted,
    "planned.cap": planned_cap, "planned.cooling": planned_cooling,
}  # fmt: skip
UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {"unknown.job": slower, "unknown.node": slow_node}
SITUATIONS = {
    **FAULTS, **CALM, **UNDOCUMENTED, **MORE_CALM, **MORE_UNDOCUMENTED, **NEW_CALM, **NEW_UNDOCUMENTED,
    **OTHER_FAULTS, **OTHER_CALM, **OTHER_UNDOCUMENTED, **FIELD_CALM, **FIELD_UNDOCUMENTED,
}  # fmt: skip
MORE_SITUATIONS = ("fifth", "sixth", "seventh", "unseen")  # families with the situations of more_situations
NEW_SITUATIONS = ("sixth", "seventh", "unseen")  # families with those of background
OTHER_SITUATIONS = ("seventh", "unseen")  # families with those of strangers
FIELD_SITUATIONS = ("unseen",)  # families with those of field
