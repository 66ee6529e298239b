"""What happens at a drawn site: a documented fault, a calm hour with its own life, announced work, or a cause that no
meter shows."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from holdfast.lab.drills.score import Named, Truth
from holdfast.lab.drills.wide.physics import Course
from holdfast.lab.drills.wide.site import Floats
from holdfast.model.signal import Event
from holdfast.seams.planned import PlannedWork

Level = Callable[[], Floats]
SERVING = ("pools.path", "pools.imbalance", "calm.requests_up")
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    truths: tuple[Truth, ...] = ()
    needed: tuple[str, ...] = ()
    unmetered: tuple[str, ...] = ()
    tolerated: frozenset[Named] = frozenset()
    planned: tuple[PlannedWork, ...] = ()
    silent: tuple[tuple[tuple[str, ...], float], ...] = ()  # subjects' beginnings, from when on
    sensor: tuple[str, str, str, float] = ("", "", "", 0.0)  # lie, signal, subject, from when on


class Stager:
    """Fills a course in for one situation."""

    def __init__(self, course: Course, lasts: float) -> None:
        self.course, self.site, self.luck = course, course.site, course.site.luck
        self.times, self.lasts = course.times, lasts
        self.start = float(self.luck.uniform(0.3, 0.5)) * lasts
        self.ramp = float(self.luck.choice([0, 0, 60, 300, 700]))
        # A fault that comes and goes, one time in eight.
        self.on, self.off = (60.0, 240.0) if self.luck.random() < 0.12 else (1e12, 0.0)

    def level(self, *, steady: bool = False) -> Floats:
        since = self.times - self.start
        found = np.clip(since / self.ramp, 0, 1) if self.ramp and self.on > 1e9 else (since >= 0).astype(float)
        if not steady:
            found = found * ((since % (self.on + self.off)) < self.on)
        return np.where(since >= 0, found, 0.0)

    def between(self, low: float, high: float) -> float:
        return float(self.luck.uniform(low, high))

    def pick(self, among: int) -> int:
        return int(self.luck.integers(among))

    def work_node(self) -> int:
        return int(self.luck.choice(self.site.works[0].nodes))

    def truth(self, cause: str, kind: str, *accepts: Named) -> Truth:
        return Truth(cause=cause, kind=kind, start=self.start, accepts=accepts)

    def say(self, kind: str, subject: str, at: float, text: str = "", **detail: str) -> None:
        self.course.events.append(Event(kind=kind, at=at, text=text, subject=subject, detail=detail))


def _rack_of_work(s: Stager) -> int:
    return int(s.site.rack_of[s.work_node()])


def _cdu_of_work(s: Stager) -> int:
    return int(s.site.cdu_of[_rack_of_work(s)])


def flow_low(s: Stager) -> Situation:
    unit, lost = _cdu_of_work(s), s.between(0.3, 0.75)
    s.course.flow[unit] *= 1 - lost * s.level()
    return Situation(truths=(s.truth(s.site.cdus[unit], "cooling.flow_low"),), needed=("cdu_flow_litres_per_minute",))


def supply_warm(s: Stager) -> Situation:
    unit, degrees = _cdu_of_work(s), s.between(5, 18)
    s.course.supply[unit] += degrees * s.level()
    return Situation(truths=(s.truth(s.site.cdus[unit], "cooling.supply_warm"),), needed=("cdu_supply_celsius",))


def plant_warm(s: Stager) -> Situation:
    """The chiller plant of a hall: every unit of it supplies warm."""
    room = int(s.site.room_of[_cdu_of_work(s)])
    units = np.flatnonzero(s.site.room_of == room)
    s.course.supply[units] += s.between(5, 15) * s.level(steady=True)
    if len(units) == 1:
        return Situation(
            truths=(s.truth(s.site.cdus[units[0]], "cooling.supply_warm"),), needed=("cdu_supply_celsius",)
        )
    return Situation(truths=(s.truth(s.site.rooms[room], "cooling.plant"),), needed=("cdu_supply_celsius",))


def unmetered_unit(s: Stager) -> Situation:
    """No facility meter at all: only whose GPUs are hot tells the unit."""
    unit = _cdu_of_work(s)
    s.course.supply[unit] += s.between(9, 18) * s.level(steady=True)
    racks = np.flatnonzero(s.site.cdu_of == unit)
    subject = s.site.cdus[unit] if len(racks) > 1 else s.site.racks[racks[0]]
    kind = "cooling.unmetered" if len(racks) > 1 else "cooling.rack_blocked"
    room = int(s.site.room_of[unit])
    only = (s.site.room_of == room).sum() == 1 and len(s.site.cdus) > 1
    near = ((s.site.cdus[unit], "cooling.unmetered"), *(((s.site.rooms[room], "cooling.unmetered"),) if only else ()))
    return Situation(
        truths=(s.truth(subject, kind, *near),), unmetered=("cdu_", "rack_", "ambient_", "node_inlet", "fan_"),
        needed=("gpu_power_watts",),
    )  # fmt: skip


def rack_blocked(s: Stager) -> Situation:
    rack = _rack_of_work(s)
    s.course.opened[rack] *= 1 - s.between(0.4, 0.8) * s.level()
    truth = s.truth(s.site.racks[rack], "cooling.rack_blocked")
    if (s.site.cdu_of == s.site.cdu_of[rack]).sum() == 1:  # behind it the unit has nothing else
        truth = replace(truth, accepts=((s.site.cdus[s.site.cdu_of[rack]], "cooling.flow_low"),))
    return Situation(truths=(truth,), needed=("rack_flow_litres_per_minute",))


def ambient(s: Stager) -> Situation:
    room = int(s.site.room_of[_cdu_of_work(s)])
    s.course.ambient[room] += s.between(8, 18) * s.level(steady=True)
    return Situation(truths=(s.truth(s.site.rooms[room], "cooling.ambient"),), needed=("ambient_celsius",))


def pump(s: Stager) -> Situation:
    unit, swing = _cdu_of_work(s), s.between(0.2, 0.6)
    wave = 1 + swing * s.level(steady=True) * np.sin(2 * np.pi * s.times / s.between(90, 300))
    s.course.flow[unit] *= wave
    s.course.pump[unit] *= wave
    return Situation(
        truths=(s.truth(s.site.cdus[unit], "cooling.pump_oscillation"),),
        needed=("cdu_flow_litres_per_minute", "cdu_pump_speed_ratio"),
    )


def fan(s: Stager) -> Situation:
    node = s.work_node()
    s.course.fans[node] *= 1 - s.between(0.6, 1.0) * s.level(steady=True)
    return Situation(truths=(s.truth(s.site.node_names[node], "cooling.fan"),), needed=("fan_speed_ratio",))


def feed(s: Stager) -> Situation:
    side = s.pick(2)
    s.course.volts[side] *= 1 - s.between(0.5, 1.0) * (s.level(steady=True) > 0)
    return Situation(
        truths=(s.truth(f"feed/{'xy'[side]}", "power.feed_lost"),), needed=("feed_voltage_volts", "psu_healthy")
    )


def psu(s: Stager) -> Situation:
    place = 2 * _rack_of_work(s) + s.pick(2)
    s.course.psu[place] *= 1 - (s.level(steady=True) > 0)
    return Situation(truths=(s.truth(s.site.psus[place], "power.psu"),), needed=("psu_healthy",))


def cap(s: Stager) -> Situation:
    rack = _rack_of_work(s)
    _cap(s, rack, s.between(0.25, 0.5))
    single = (s.site.rack_of == rack).sum() == 1
    node = s.site.node_names[int(np.flatnonzero(s.site.rack_of == rack)[0])]
    accepts = ((node, "power.cap"),) if single else ()
    return Situation(
        truths=(s.truth(s.site.racks[rack], "power.cap", *accepts),),
        needed=("gpu_power_limit_watts", "gpu_clock_event_reasons"),
    )


def _cap(s: Stager, rack: int, lost: float) -> None:
    gpus = np.isin(s.site.rack_of[s.site.node_of_gpu], rack)
    level = s.level(steady=True) > 0
    s.course.limit[gpus] *= 1 - lost * level
    s.course.rack_limit[rack] *= 1 - lost * level


def brake(s: Stager) -> Situation:
    node = s.work_node()
    s.course.brake[s.site.node_of_gpu == node] *= 1 - s.between(0.3, 0.6) * (s.level(steady=True) > 0)
    s.say("power_brake", s.site.node_names[node], s.start)
    return Situation(truths=(s.truth(s.site.node_names[node], "power.brake"),), needed=("gpu_clock_event_reasons",))


def uplink(s: Stager) -> Situation:
    link = int(s.site.leaf_of[s.work_node()]) * s.site.spines + s.pick(s.site.spines)
    share = s.between(0.35, 0.85)
    s.course.link[link] *= 1 - share * s.level()
    s.course.errors[link] += 100 * share * s.level()
    return Situation(
        truths=(s.truth(s.site.links[link], "fabric.uplink"),),
        needed=("link_bandwidth_bytes_per_second", "link_errors_per_second"),
    )


def leaf(s: Stager) -> Situation:
    place = int(s.site.leaf_of[s.work_node()])
    share = s.between(0.3, 0.7) * s.level()
    s.course.link[place * s.site.spines : (place + 1) * s.site.spines] *= 1 - share
    s.course.port[s.site.leaf_of[s.site.node_of_gpu] == place] *= 1 - share
    return Situation(
        truths=(s.truth(s.site.leaves[place], "fabric.leaf"),),
        needed=("link_bandwidth_bytes_per_second", "port_bandwidth_bytes_per_second"),
    )


def spine(s: Stager) -> Situation:
    place = s.pick(s.site.spines)
    s.course.link[place :: s.site.spines] *= 1 - s.between(0.3, 0.7) * s.level()
    kind = "fabric.spine" if len(s.site.leaves) > 1 else "fabric.uplink"
    cause = f"switch/s{place}" if len(s.site.leaves) > 1 else s.site.links[place]
    return Situation(truths=(s.truth(cause, kind),), needed=("link_bandwidth_bytes_per_second",))


def rail(s: Stager) -> Situation:
    place = s.pick(s.site.per_node)
    s.course.port[place :: s.site.per_node] *= 1 - s.between(0.3, 0.7) * s.level()
    return Situation(
        truths=(s.truth(f"switch/rail{place}", "fabric.rail"),),
        needed=("port_xmit_wait_ratio", "port_bandwidth_bytes_per_second"),
    )


def congestion(s: Stager) -> Situation:
    link = int(s.site.leaf_of[s.work_node()]) * s.site.spines + s.pick(s.site.spines)
    s.course.foreign[link] += s.between(0.4, 0.75) * s.level()
    return Situation(
        truths=(s.truth(s.site.links[link], "fabric.congestion"),),
        needed=("link_congestion_ratio", "link_utilization_ratio", "link_bandwidth_bytes_per_second"),
    )


def path(s: Stager) -> Situation:
    place = s.pick(len(s.site.paths))
    s.course.path[place] *= 1 - s.between(0.4, 0.8) * s.level()
    return Situation(
        truths=(s.truth(s.site.paths[place], "pools.path"),), needed=("pool_transfer_seconds", "pool_routing_share")
    )


def imbalance(s: Stager) -> Situation:
    place = s.pick(len(s.site.paths))
    taken = s.between(0.3, 0.6) * s.level(steady=True) * s.course.share
    taken[place] = 0
    s.course.share -= taken
    s.course.share[place] += taken.sum(axis=0)
    return Situation(
        truths=(s.truth(s.site.paths[place], "pools.imbalance"),),
        needed=("pool_transfer_seconds", "pool_routing_share"),
    )


def write_slow(s: Stager) -> Situation:
    s.course.store *= 1 - s.between(0.4, 0.75) * s.level(steady=True)
    return Situation(
        truths=(s.truth("storage/scratch", "storage.write_slow"),),
        needed=("storage_latency_seconds", "storage_write_bytes_per_second", "job_checkpoint_seconds"),
    )


def metadata(s: Stager) -> Situation:
    s.course.metadata += s.between(0.2, 0.8) * s.level(steady=True)
    return Situation(
        truths=(s.truth("storage/scratch", "storage.metadata"),),
        needed=("storage_metadata_seconds", "job_checkpoint_seconds"),
    )


def one_writer(s: Stager) -> Situation:
    node = s.work_node()
    s.course.writers[node] = 1 + s.between(2.0, 6.0) * (s.level(steady=True) > 0).astype(np.float64)
    return Situation(
        truths=(s.truth(s.site.node_names[node], "storage.one_writer"),),
        needed=("rank_checkpoint_seconds", "job_checkpoint_seconds"),
    )


def slow_recovery(s: Stager) -> Situation:
    work = s.site.works[0]
    for_seconds = min(work.restart * s.between(4, 8), s.lasts - s.start)
    s.course.down.append((work.name, s.start, s.start + for_seconds))
    s.say("job_failed", work.subject, s.start, "died")
    if s.start + for_seconds < s.lasts:
        s.say("job_restarted", work.subject, s.start + for_seconds)
    return Situation(truths=(s.truth(work.subject, "schedule.slow_recovery"),), needed=("job_restart_seconds",))


def gpu_slow(s: Stager) -> Situation:
    gpu = s.work_node() * s.site.per_node + s.pick(s.site.per_node)
    s.course.slow[gpu] *= 1 - s.between(0.15, 0.5) * s.level()
    return Situation(truths=(s.truth(s.site.gpu_names[gpu], "gpu.slow"),))


def rank_slow(s: Stager) -> Situation:
    work = s.site.works[0]
    rank = s.pick(len(s.site.gpus_of(work.nodes)))
    s.course.rank[s.site.gpus_of(work.nodes)[rank]] *= 1 + s.between(0.25, 0.8) * s.level()
    return Situation(
        truths=(s.truth(f"{work.subject}/rank/{rank}", "job.rank_slow"),), needed=("rank_compute_seconds",)
    )


def sensor(s: Stager, lie: str) -> Situation:
    unit, rack, node = _cdu_of_work(s), _rack_of_work(s), s.work_node()
    signal, subject = [
        ("cdu_flow_litres_per_minute", s.site.cdus[unit]),
        ("cdu_supply_celsius", s.site.cdus[unit]),
        ("rack_inlet_celsius", s.site.racks[rack]),
        ("gpu_temperature_celsius", s.site.gpu_names[node * s.site.per_node]),
    ][s.pick(4)]
    return Situation(
        truths=(s.truth(subject, f"sensor.{lie}"),), sensor=(lie, signal, subject, s.start),
        needed=(signal, "cdu_supply_celsius", "rack_inlet_celsius", "rack_flow_litres_per_minute"),
    )  # fmt: skip


def agent_silent(s: Stager) -> Situation:
    """One node's agent: nothing of it is reported any more, while its job works on."""
    node = s.site.node_names[s.work_node()]
    return Situation(
        truths=(s.truth(node, "sensor.lost"),), silent=(((node + "/gpu/", node + "/nic/", node), s.start),)
    )


def rack_silent(s: Stager) -> Situation:
    rack = _rack_of_work(s)
    nodes = [s.site.node_names[node] for node in np.flatnonzero(s.site.rack_of == rack)]
    cause = s.site.racks[rack] if len(nodes) > 1 else nodes[0]
    return Situation(
        truths=(s.truth(cause, "sensor.lost"),),
        silent=((tuple(f"{node}/" for node in nodes) + tuple(nodes), s.start),),
    )


def quiet(s: Stager) -> Situation:
    return Situation()


def job_ends(s: Stager) -> Situation:
    s.course.ends[s.site.works[-1].name] = s.start
    return Situation()


def job_starts(s: Stager) -> Situation:
    s.course.begins[s.site.works[-1].name] = s.start
    return Situation()


def lighter(s: Stager) -> Situation:
    s.course.work_draw[s.site.works[0].name] *= 1 - s.between(0.15, 0.5) * s.level(steady=True)
    return Situation()


def heavier(s: Stager) -> Situation:
    s.course.work_draw[s.site.works[0].name] *= 1 + s.between(0.05, 0.25) * s.level(steady=True)
    return Situation()


def requests_up(s: Stager) -> Situation:
    s.course.requests *= 1 + s.between(0.3, 0.7) * s.level(steady=True)
    return Situation(needed=("pool_transfer_seconds",))


def store_burst(s: Stager) -> Situation:
    until = s.start + s.between(60, 500)
    s.course.burst *= 1 + s.between(0.3, 3.0) * ((s.times >= s.start) & (s.times < until))
    return Situation(needed=("storage_latency_seconds",))


def quota(s: Stager) -> Situation:
    """One job may write less than before; storage is as fast as ever for all others."""
    work = s.site.works[-1]
    s.course.quota[work.name] = 1 - s.between(0.3, 0.6) * (s.level(steady=True) > 0).astype(np.float64)
    return Situation(
        needed=("job_checkpoint_seconds", "storage_write_bytes_per_second", "storage_latency_seconds"),
        tolerated=frozenset({(work.subject, "job.slowdown")}),
    )


def warm_day(s: Stager) -> Situation:
    s.course.ambient += s.between(1.5, 3.0) * np.clip((s.times - 0.2 * s.lasts) / 2400, 0, 1)
    return Situation()


def gap(s: Stager) -> Situation:
    """A gateway restarts: a family of meters is silent for some minutes."""
    return Situation(silent=((("cdu/", "rack/"), -s.start),))


def bmc_zero(s: Stager) -> Situation:
    """Several BMCs report their fans at 0; the GPUs are as cool as ever."""
    nodes = s.luck.choice(s.site.nodes, min(6, s.site.nodes // 2), replace=False)
    known = frozenset(
        (name, kind) for name in [*(s.site.node_names[node] for node in nodes), *s.site.racks, *s.site.rooms]
        for kind in ("sensor.absurd", "sensor.stuck", "sensor.lost", "sensor.drift")
    )  # fmt: skip
    return Situation(
        needed=("fan_speed_ratio",), tolerated=known,
        sensor=("zero", "fan_speed_ratio", " ".join(s.site.node_names[node] for node in nodes), s.start),
    )  # fmt: skip


def rerouted(s: Stager) -> Situation:
    s.say("route_change", s.site.leaves[s.pick(len(s.site.leaves))], s.start, "forwarding tables changed")
    s.say("driver_rollout", s.site.node_names[s.pick(s.site.nodes)], s.start + 100, "driver-1", version="driver-1")
    s.say("xid", s.site.gpu_names[s.pick(len(s.site.gpu_names))], s.start + 200, "Xid 13")
    return Situation()


def planned_cap(s: Stager) -> Situation:
    rack = _rack_of_work(s)
    _cap(s, rack, s.between(0.25, 0.5))
    work = PlannedWork(
        name="grid event", what="power", subjects=(s.site.racks[rack],), start=s.start - 30, end=s.lasts + 3600
    )
    return Situation(planned=(work,), needed=("gpu_power_limit_watts", "gpu_clock_event_reasons"))


def planned_cooling(s: Stager) -> Situation:
    unit = _cdu_of_work(s)
    s.course.flow[unit] *= 1 - s.between(0.3, 0.6) * s.level(steady=True)
    work = PlannedWork(
        name="filter change", what="cooling", subjects=(s.site.cdus[unit],), start=s.start - 60, end=s.lasts + 3600
    )
    return Situation(planned=(work,), needed=("cdu_flow_litres_per_minute",))


def slower(s: Stager) -> Situation:
    """A cause that no meter shows: every rank of one job takes longer alike."""
    work = s.site.works[0]
    s.course.work_slow[work.name] *= 1 + s.between(0.09, 0.25) * s.level(steady=True)
    return Situation(truths=(s.truth(work.subject, "job.slowdown"),))


def slow_node(s: Stager) -> Situation:
    """A node whose ranks are all slower while its GPUs look well: a bus, a neighbour on the host."""
    node = s.work_node()
    s.course.rank[s.site.node_of_gpu == node] *= 1 + s.between(0.12, 0.4) * s.level(steady=True)
    work = s.site.works[0]
    first = int(np.flatnonzero(work.nodes == node)[0]) * s.site.per_node
    ranks = tuple((f"{work.subject}/rank/{first + one}", "job.rank_slow") for one in range(s.site.per_node))
    return Situation(
        truths=(s.truth(s.site.node_names[node], "node.slow", (work.subject, "job.slowdown"), *ranks),),
        needed=("rank_compute_seconds",),
    )


FAULTS: dict[str, Callable[[Stager], Situation]] = {
    "cooling.flow_low": flow_low, "cooling.supply_warm": supply_warm, "cooling.rack_blocked": rack_blocked,
    "cooling.ambient": ambient, "cooling.pump_oscillation": pump, "cooling.fan": fan, "cooling.plant": plant_warm,
    "cooling.unmetered": unmetered_unit, "power.feed_lost": feed, "power.psu": psu, "power.cap": cap,
    "power.brake": brake, "fabric.uplink": uplink, "fabric.leaf": leaf, "fabric.spine": spine, "fabric.rail": rail,
    "fabric.congestion": congestion, "pools.path": path, "pools.imbalance": imbalance,
    "storage.write_slow": write_slow, "storage.metadata": metadata, "storage.one_writer": one_writer,
    "schedule.slow_recovery": slow_recovery, "gpu.slow": gpu_slow, "job.rank_slow": rank_slow,
    "sensor.stuck": lambda s: sensor(s, "stuck"), "sensor.drift": lambda s: sensor(s, "drift"),
    "sensor.absurd": lambda s: sensor(s, "absurd"), "sensor.lost": lambda s: sensor(s, "lost"),
    "silent.agent": agent_silent, "silent.rack": rack_silent,
}  # fmt: skip
CALM: dict[str, Callable[[Stager], Situation]] = {
    "calm.quiet": quiet, "calm.job_ends": job_ends, "calm.job_starts": job_starts, "calm.lighter": lighter,
    "calm.heavier": heavier, "calm.requests_up": requests_up, "calm.store_burst": store_burst, "calm.quota": quota,
    "calm.warm_day": warm_day, "calm.gap": gap, "calm.bmc_zero": bmc_zero, "calm.rerouted": rerouted,
    "planned.cap": planned_cap, "planned.cooling": planned_cooling,
}  # fmt: skip
UNDOCUMENTED: dict[str, Callable[[Stager], Situation]] = {"unknown.job": slower, "unknown.node": slow_node}
