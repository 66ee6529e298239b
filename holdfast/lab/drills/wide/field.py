"""Situations of the family `unseen`, as operators of halls and jobs meet them: calm, announced and undocumented.

Also the normal behaviour of its jobs and requests.
"""

from collections.abc import Callable

import numpy as np

from holdfast.lab.drills.wide import unseen
from holdfast.lab.drills.wide.site import Floats
from holdfast.lab.drills.wide.stager import Situation, Stager, cdu_of_work, rack_of_work
from holdfast.seams.planned import PlannedWork

CLEANED_SECONDS, WALK_SECONDS = 240.0, 180.0


def lives(s: Stager) -> None:
    """Normal activity: uneven ranks, evaluations, and requests by hour of the day."""
    how, seed = s.site.laws.work, s.site.seed
    s.conditions.requests *= _requests(s.times, seed)
    for number, work in enumerate(s.site.works):
        gpus = s.site.gpus_of(work.nodes)
        s.conditions.rank[gpus] *= _uneven(how, s.times, len(gpus), number, seed)
        s.conditions.paused[work.name] |= _pauses(how, s.times, number, seed) > 0


def _uneven(how: str, times: Floats, ranks: int, number: int, seed: int) -> Floats:
    """Relative work of each rank: experts receive unequal numbers of tokens, and pipeline stages are unequal."""
    spread, rng = unseen.ranges(seed).spread, np.random.default_rng([seed, 419, number])
    if how == "experts":
        wander = 0.006 * unseen.slow(ranks, len(times), (times[1] - times[0]) / 1500, rng).clip(-2.5, 2.5)
        return np.asarray(np.exp(spread * rng.standard_normal((ranks, 1)).clip(-2.2, 2.2) + wander))
    if how == "pipeline":
        stages = int(rng.choice([2, 4, 8]))
        share = np.ones(stages)
        share[0], share[-1] = 1 + spread, 1 + 2 * spread
        return np.ones((ranks, len(times))) * share[np.arange(ranks) * stages // ranks][:, None]
    return np.ones((ranks, len(times)))


def _pauses(how: str, times: Floats, number: int, seed: int) -> Floats:
    """1 while a job evaluates, else 0."""
    rng = np.random.default_rng([seed, 421, number])
    period, lasts, phase = rng.uniform(700, 1500), rng.uniform(60, 140), rng.random()
    return np.asarray((how == "evaluations") * ((times + phase * period) % period < lasts) * 1.0)


def _requests(times: Floats, seed: int) -> Floats:
    """Request rate: an hour of a daily curve with random minutes above and below it."""
    rng = np.random.default_rng([seed, 431])
    day = np.sin(2 * np.pi * (times / 86_400 + rng.random()))
    return np.asarray((1 + 0.5 * (day - day[0])) * (1 + 0.03 * unseen.slow(1, len(times), 0.2, rng)[0].clip(-2.5, 2.5)))


def _during(s: Stager, low: float, high: float) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return (s.times >= s.start) & (s.times < s.start + s.between(low, high))


def battery_test(s: Stager) -> Situation:
    """The battery of one feed is tested: its voltage drops a little for some minutes, and all supplies continue."""
    s.conditions.volts[s.pick(2)] *= 1 - s.between(0.015, 0.035) * _during(s, 180, 500)
    return Situation(needed=("feed_voltage_volts",))


def door(s: Stager) -> Situation:
    """The door of an aisle is open during work."""
    room = int(s.site.room_of[cdu_of_work(s)])
    s.conditions.ambient[room] += s.between(0.8, 2.0) * _during(s, 300, 700)
    return Situation(needed=("ambient_celsius",))


def new_meter(s: Stager) -> Situation:
    """A flow meter is replaced: the new one reads 2.5 % more."""
    return Situation(
        needed=("cdu_flow_litres_per_minute",),
        sensor=("replaced", "cdu_flow_litres_per_minute", s.site.cdus[cdu_of_work(s)], s.start),
    )


def evaluation(s: Stager) -> Situation:
    """A job reaches a milestone and evaluates for some minutes, without steps."""
    s.conditions.paused[s.site.works[0].name] |= _during(s, 240, 480)
    return Situation(needed=("gpu_utilization_ratio",))


def planned_supply(s: Stager) -> Situation:
    """A power supply is replaced while its rack runs on the other one."""
    place = 2 * rack_of_work(s) + s.pick(2)
    s.conditions.psu[place] *= 1 - _during(s, 400, 900)
    work = PlannedWork(
        name="replacement of a power supply", what="power", subjects=(s.site.psus[place],), start=s.start - 60,
        end=s.lasts + 600,
    )  # fmt: skip
    return Situation(planned=(work,), needed=("psu_healthy",))


def planned_optics(s: Stager) -> Situation:
    """Optics of a leaf are cleaned: one uplink after the other runs with half of its lanes."""
    leaf = int(s.site.leaf_of[s.work_node()])
    links = [leaf * s.site.spines + number for number in range(s.site.spines)]
    for number, link in enumerate(links):
        since = s.times - s.start - CLEANED_SECONDS * number
        s.conditions.link[link] *= np.where((since >= 0) & (since < CLEANED_SECONDS), 0.5, 1.0)
    work = PlannedWork(
        name="cleaning of optics", what="fabric", subjects=tuple(s.site.links[link] for link in links),
        start=s.start - 60, end=s.lasts + 300,
    )  # fmt: skip
    return Situation(planned=(work,), needed=("link_bandwidth_bytes_per_second",))


def collapse(s: Stager) -> Situation:
    """A router sends most tokens to few experts: some ranks have more work, and all others wait for them."""
    work = s.site.works[0]
    gpus = s.site.gpus_of(work.nodes)
    asked = s.rng.choice(len(gpus), max(2, len(gpus) // 6), replace=False)
    s.conditions.rank[gpus] *= 1 - 0.05 * s.level(steady=True)
    s.conditions.rank[gpus[asked]] *= 1 + s.between(0.2, 0.45) * s.level(steady=True)
    ranks = tuple((f"{work.subject}/rank/{rank}", "job.rank_slow") for rank in asked)
    return Situation(truths=(s.truth(work.subject, "job.slowdown", *ranks),))


def walks(s: Stager) -> Situation:
    """A disk scan moves from host to host: the job always waits for one of them."""
    work, share = s.site.works[0], s.between(0.18, 0.4)
    since = s.times - s.start
    turn = (since // WALK_SECONDS).astype(int) % len(work.nodes)
    near: list[tuple[str, str]] = []
    for place, node in enumerate(work.nodes):
        s.conditions.rank[s.site.node_of_gpu == node] *= 1 + share * ((since >= 0) & (turn == place))
        near.append((s.site.node_names[node], "node.slow"))
    near += [(f"{work.subject}/rank/{rank}", "job.rank_slow") for rank in range(len(work.nodes) * s.site.per_node)]
    return Situation(truths=(s.truth(work.subject, "job.slowdown", *near),))


FIELD_CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.battery_test": battery_test, "calm.door": door, "calm.new_meter": new_meter, "calm.evaluation": evaluation,
    "planned.supply": planned_supply, "planned.optics": planned_optics,
}  # fmt: skip
FIELD_UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {"unknown.collapse": collapse, "unknown.walks": walks}
