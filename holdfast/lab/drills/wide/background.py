"""Situations of the families from `sixth` on: calm, announced and undocumented.

Also harmless events that accompany any situation.
"""

from collections.abc import Callable

import numpy as np

from holdfast.lab.drills.wide.stager import Situation, Stager, cdu_of_work
from holdfast.seams.planned import PlannedWork

CRON_SECONDS = 300.0


def fan_policy(s: Stager) -> Situation:
    """A new fan policy on every node: all fans turn a little slower."""
    s.conditions.fans *= 1 - s.between(0.05, 0.12) * (s.times >= s.start)
    return Situation()


def unused_cap(s: Stager) -> Situation:
    """A power limit without effect: it stays above the job's power."""
    most = max(work.draw for work in s.site.works) * 1.3
    most = max(most, 0.75) if s.site.pools else most
    if most < 0.99:
        s.conditions.limit *= 1 - (1 - most) * (s.times >= s.start)
    return Situation()


def cold_front(s: Stager) -> Situation:
    s.conditions.ambient -= s.between(2.0, 4.0) * np.clip((s.times - 0.25 * s.lasts) / 1500, 0, 1)
    return Situation()


def requests_down(s: Stager) -> Situation:
    s.conditions.requests *= 1 - s.between(0.3, 0.6) * s.level(steady=True)
    return Situation(needed=("pool_transfer_seconds",))


def readers(s: Stager) -> Situation:
    """Other readers use the storage: latency rises a little for the rest of the hour, and no checkpoint takes
    longer."""
    s.conditions.burst *= 1 + s.between(0.1, 0.3) * s.level(steady=True)
    return Situation(needed=("storage_latency_seconds", "job_checkpoint_seconds"))


def rebalanced(s: Stager) -> Situation:
    """A leaf moves a little of its traffic from one uplink to another, too little to slow a job."""
    leaf = s.pick(len(s.site.leaves)) * s.site.spines
    moved = s.unfelt(s.between(0.02, 0.06)) * (s.times >= s.start)
    s.conditions.routes[leaf] += moved
    s.conditions.routes[leaf + 1] -= moved
    return Situation(needed=("link_utilization_ratio",))


def planned_agents(s: Stager) -> Situation:
    """Agents are upgraded node by node: each is silent for some minutes."""
    nodes = [s.site.node_names[node] for node in s.rng.choice(s.site.nodes, min(3, s.site.nodes), replace=False)]
    work = PlannedWork(
        name="agent upgrade", what="sensor", subjects=tuple(nodes), start=s.start - 60, end=s.lasts + 600
    )
    silent = tuple(
        ((f"{node}/gpu/", f"{node}/nic/", node), -(s.start + 240.0 * number)) for number, node in enumerate(nodes)
    )
    return Situation(planned=(work,), silent=silent)


def planned_hall(s: Stager) -> Situation:
    """The chilled water of a hall gets another set point, as announced."""
    room = int(s.site.room_of[cdu_of_work(s)])
    s.conditions.supply[s.site.room_of == room] += s.between(4, 10) * s.level(steady=True)
    work = PlannedWork(
        name="chiller maintenance", what="cooling", subjects=(s.site.rooms[room],), start=s.start - 45,
        end=s.lasts + 1200,
    )  # fmt: skip
    return Situation(planned=(work,), needed=("cdu_supply_celsius",))


def planned_feed(s: Stager) -> Situation:
    side = s.pick(2)
    s.conditions.volts[side] *= 1 - (s.level(steady=True) > 0)
    work = PlannedWork(
        name="breaker test", what="power", subjects=(f"feed/{'xy'[side]}",), start=s.start - 20, end=s.lasts + 600
    )
    return Situation(planned=(work,), needed=("feed_voltage_volts", "psu_healthy"))


def cron(s: Stager) -> Situation:
    """Something on every host takes turns: the job is slower for two minutes of every five."""
    work = s.site.works[0]
    since = s.times - s.start
    s.conditions.work_slow[work.name] *= 1 + s.between(0.25, 0.5) * ((since >= 0) & (since % CRON_SECONDS < 120.0))
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


def library(s: Stager) -> Situation:
    """A job restarts with another library, and every step takes longer since."""
    work = s.site.works[0]
    until = s.start + work.restart
    s.conditions.down.append((work.name, s.start, until))
    s.add_event("job_failed", work.subject, s.start, "stopped by its owner")
    s.add_event("job_restarted", work.subject, until, recovery_seconds=f"{work.restart:.0f}")
    s.conditions.work_slow[work.name] *= 1 + s.between(0.12, 0.3) * (s.times >= until)
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


NEW_CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.fan_policy": fan_policy, "calm.unused_cap": unused_cap, "calm.cold_front": cold_front,
    "calm.requests_down": requests_down, "calm.readers": readers, "calm.rebalanced": rebalanced,
    "planned.agents": planned_agents, "planned.hall": planned_hall, "planned.feed": planned_feed,
}  # fmt: skip
NEW_UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {"unknown.cron": cron, "unknown.library": library}


def beside(s: Stager) -> None:
    """Up to two harmless things at a time of their own."""
    things = (_event, _mild, _read, _lighter)
    for place in s.rng.choice(len(things), int(s.rng.integers(0, 3)), replace=False):
        things[place](s, float(s.rng.uniform(0.1, 0.9)) * s.lasts)


def _event(s: Stager, at: float) -> None:
    s.add_event("route_change", s.site.leaves[s.pick(len(s.site.leaves))], at, "forwarding tables changed")
    s.add_event("xid", s.site.gpu_names[s.pick(len(s.site.gpu_names))], at + 30, "Xid 13")


def _mild(s: Stager, at: float) -> None:
    s.conditions.ambient += s.between(-1.0, 1.0) * np.clip((s.times - at) / 900, 0, 1)


def _read(s: Stager, at: float) -> None:
    s.conditions.burst *= 1 + s.between(0.1, 0.8) * ((s.times >= at) & (s.times < at + 240))


def _lighter(s: Stager, at: float) -> None:
    """Not where a power limit holds the job back: with less to do, it would no longer."""
    less, work = s.between(0.05, 0.25), s.site.works[-1]
    if not (s.conditions.limit[s.site.gpus_of(work.nodes)] < work.draw).any():
        s.conditions.work_draw[work.name] *= 1 - less * (s.times >= at)
