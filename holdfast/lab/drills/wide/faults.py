"""Documented faults at a random site."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from holdfast.lab.drills.wide.stager import Situation, Stager, cap_rack, cdu_of_work, rack_of_work

BINDS = 0.6  # of a job's power


def flow_low(s: Stager) -> Situation:
    unit, lost = cdu_of_work(s), s.between(0.3, 0.75)
    s.conditions.flow[unit] *= 1 - lost * s.level()
    return Situation(truths=(s.truth(s.site.cdus[unit], "cooling.flow_low"),), needed=("cdu_flow_litres_per_minute",))


def supply_warm(s: Stager) -> Situation:
    unit, degrees = cdu_of_work(s), s.between(5, 18)
    s.conditions.supply[unit] += degrees * s.level()
    return Situation(truths=(s.truth(s.site.cdus[unit], "cooling.supply_warm"),), needed=("cdu_supply_celsius",))


def plant_warm(s: Stager) -> Situation:
    """The chiller plant of a hall fails: all of its units supply warm coolant."""
    room = int(s.site.room_of[cdu_of_work(s)])
    units = np.flatnonzero(s.site.room_of == room)
    s.conditions.supply[units] += s.between(5, 15) * s.level(steady=True)
    if len(units) == 1:
        return Situation(
            truths=(s.truth(s.site.cdus[units[0]], "cooling.supply_warm"),), needed=("cdu_supply_celsius",)
        )
    return Situation(truths=(s.truth(s.site.rooms[room], "cooling.plant"),), needed=("cdu_supply_celsius",))


def unmetered_unit(s: Stager) -> Situation:
    """A unit without any facility meter fails: only its hot GPUs show which unit it is."""
    unit = cdu_of_work(s)
    s.conditions.supply[unit] += s.between(9, 18) * s.level(steady=True)
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
    rack = rack_of_work(s)
    s.conditions.opened[rack] *= 1 - s.between(0.4, 0.8) * s.level()
    truth = s.truth(s.site.racks[rack], "cooling.rack_blocked")
    if (s.site.cdu_of == s.site.cdu_of[rack]).sum() == 1:  # so the unit has no other racks
        truth = replace(truth, accepts=((s.site.cdus[s.site.cdu_of[rack]], "cooling.flow_low"),))
    return Situation(truths=(truth,), needed=("rack_flow_litres_per_minute",))


def ambient(s: Stager) -> Situation:
    room = int(s.site.room_of[cdu_of_work(s)])
    s.conditions.ambient[room] += s.between(8, 18) * s.level(steady=True)
    return Situation(truths=(s.truth(s.site.rooms[room], "cooling.ambient"),), needed=("ambient_celsius",))


def pump(s: Stager) -> Situation:
    unit, swing = cdu_of_work(s), s.between(0.2, 0.6)
    wave = 1 + swing * s.level(steady=True) * np.sin(2 * np.pi * s.times / s.period(90, 300))
    s.conditions.flow[unit] *= wave
    s.conditions.pump[unit] *= wave
    return Situation(
        truths=(s.truth(s.site.cdus[unit], "cooling.pump_oscillation"),),
        needed=("cdu_flow_litres_per_minute", "cdu_pump_speed_ratio"),
    )


def fan(s: Stager) -> Situation:
    node = s.work_node()
    s.conditions.fans[node] *= 1 - s.between(0.6, 1.0) * s.level(steady=True)
    return Situation(truths=(s.truth(s.site.node_names[node], "cooling.fan"),), needed=("fan_speed_ratio",))


def feed(s: Stager) -> Situation:
    side = s.pick(2)
    s.conditions.volts[side] *= 1 - s.between(0.5, 1.0) * (s.level(steady=True) > 0)
    return Situation(
        truths=(s.truth(f"feed/{'xy'[side]}", "power.feed_lost"),), needed=("feed_voltage_volts", "psu_healthy")
    )


def psu(s: Stager) -> Situation:
    place = 2 * rack_of_work(s) + s.pick(2)
    s.conditions.psu[place] *= 1 - (s.level(steady=True) > 0)
    return Situation(truths=(s.truth(s.site.psus[place], "power.psu"),), needed=("psu_healthy",))


def cap(s: Stager) -> Situation:
    """A power limit below the job's power. A limit above it is no fault, but `calm.unused_cap`."""
    rack = rack_of_work(s)
    cap_rack(s, rack, max(s.between(0.25, 0.5), 1 - BINDS * s.site.works[0].draw))
    single = (s.site.rack_of == rack).sum() == 1
    node = s.site.node_names[int(np.flatnonzero(s.site.rack_of == rack)[0])]
    accepts = ((node, "power.cap"),) if single else ()
    return Situation(
        truths=(s.truth(s.site.racks[rack], "power.cap", *accepts),),
        needed=("gpu_power_limit_watts", "gpu_clock_event_reasons"),
    )


def brake(s: Stager) -> Situation:
    node = s.work_node()
    s.conditions.brake[s.site.node_of_gpu == node] *= 1 - s.between(0.3, 0.6) * (s.level(steady=True) > 0)
    s.add_event("power_brake", s.site.node_names[node], s.start)
    return Situation(truths=(s.truth(s.site.node_names[node], "power.brake"),), needed=("gpu_clock_event_reasons",))


def uplink(s: Stager) -> Situation:
    link = int(s.site.leaf_of[s.work_node()]) * s.site.spines + s.pick(s.site.spines)
    share = s.between(0.35, 0.85)
    s.conditions.link[link] *= 1 - share * s.level()
    s.conditions.errors[link] += 100 * share * s.level()
    return Situation(
        truths=(s.truth(s.site.links[link], "fabric.uplink"),),
        needed=("link_bandwidth_bytes_per_second", "link_errors_per_second"),
    )


def leaf(s: Stager) -> Situation:
    place = int(s.site.leaf_of[s.work_node()])
    share = s.between(0.3, 0.7) * s.level()
    s.conditions.link[place * s.site.spines : (place + 1) * s.site.spines] *= 1 - share
    s.conditions.port[s.site.leaf_of[s.site.node_of_gpu] == place] *= 1 - share
    return Situation(
        truths=(s.truth(s.site.leaves[place], "fabric.leaf"),),
        needed=("link_bandwidth_bytes_per_second", "port_bandwidth_bytes_per_second"),
    )


def spine(s: Stager) -> Situation:
    place = s.pick(s.site.spines)
    s.conditions.link[place :: s.site.spines] *= 1 - s.between(0.3, 0.7) * s.level()
    kind = "fabric.spine" if len(s.site.leaves) > 1 else "fabric.uplink"
    cause = f"switch/s{place}" if len(s.site.leaves) > 1 else s.site.links[place]
    return Situation(truths=(s.truth(cause, kind),), needed=("link_bandwidth_bytes_per_second",))


def rail(s: Stager) -> Situation:
    place = s.pick(s.site.per_node)
    s.conditions.port[place :: s.site.per_node] *= 1 - s.between(0.3, 0.7) * s.level()
    return Situation(
        truths=(s.truth(f"switch/rail{place}", "fabric.rail"),),
        needed=("port_xmit_wait_ratio", "port_bandwidth_bytes_per_second"),
    )


def congestion(s: Stager) -> Situation:
    link = int(s.site.leaf_of[s.work_node()]) * s.site.spines + s.pick(s.site.spines)
    s.conditions.foreign[link] += s.between(0.4, 0.75) * s.level()
    return Situation(
        truths=(s.truth(s.site.links[link], "fabric.congestion"),),
        needed=("link_congestion_ratio", "link_utilization_ratio", "link_bandwidth_bytes_per_second"),
    )


def path(s: Stager) -> Situation:
    place = s.pick(len(s.site.paths))
    s.conditions.path[place] *= 1 - s.between(0.4, 0.8) * s.level()
    return Situation(
        truths=(s.truth(s.site.paths[place], "pools.path"),), needed=("pool_transfer_seconds", "pool_routing_share")
    )


def imbalance(s: Stager) -> Situation:
    place = s.pick(len(s.site.paths))
    taken = s.between(0.3, 0.6) * s.level(steady=True) * s.conditions.share
    taken[place] = 0
    s.conditions.share -= taken
    s.conditions.share[place] += taken.sum(axis=0)
    return Situation(
        truths=(s.truth(s.site.paths[place], "pools.imbalance"),),
        needed=("pool_transfer_seconds", "pool_routing_share"),
    )


def write_slow(s: Stager) -> Situation:
    s.conditions.store *= 1 - s.between(0.4, 0.75) * s.level(steady=True)
    return Situation(
        truths=(s.truth("storage/scratch", "storage.write_slow"),),
        needed=("storage_latency_seconds", "storage_write_bytes_per_second", "job_checkpoint_seconds"),
    )


def metadata(s: Stager) -> Situation:
    s.conditions.metadata += s.between(0.2, 0.8) * s.level(steady=True)
    return Situation(
        truths=(s.truth("storage/scratch", "storage.metadata"),),
        needed=("storage_metadata_seconds", "job_checkpoint_seconds"),
    )


def one_writer(s: Stager) -> Situation:
    """One node writes slowly. The job saves at least once afterwards, because a slow writer shows only when it
    writes."""
    node, work = s.work_node(), s.site.works[0]
    often = 0.45 * (s.lasts - s.start)
    if work.interval > often:
        s.conditions.interval[work.name] = np.full(len(s.times), often)
    s.conditions.writers[node] = 1 + s.between(2.0, 6.0) * (s.level(steady=True) > 0).astype(np.float64)
    return Situation(
        truths=(s.truth(s.site.node_names[node], "storage.one_writer"),),
        needed=("rank_checkpoint_seconds", "job_checkpoint_seconds"),
    )


def slow_recovery(s: Stager) -> Situation:
    work = s.site.works[0]
    for_seconds = min(work.restart * s.between(4, 8), s.lasts - s.start)
    s.conditions.down.append((work.name, s.start, s.start + for_seconds))
    s.add_event("job_failed", work.subject, s.start, "died")
    if s.start + for_seconds < s.lasts:
        s.add_event("job_restarted", work.subject, s.start + for_seconds)
    return Situation(truths=(s.truth(work.subject, "schedule.slow_recovery"),), needed=("job_restart_seconds",))


def gpu_slow(s: Stager) -> Situation:
    gpu = s.work_node() * s.site.per_node + s.pick(s.site.per_node)
    s.conditions.slow[gpu] *= 1 - s.between(0.15, 0.5) * s.level()
    return Situation(truths=(s.truth(s.site.gpu_names[gpu], "gpu.slow"),))


def rank_slow(s: Stager) -> Situation:
    work = s.site.works[0]
    rank = s.pick(len(s.site.gpus_of(work.nodes)))
    s.conditions.rank[s.site.gpus_of(work.nodes)[rank]] *= 1 + s.between(0.25, 0.8) * s.level()
    return Situation(
        truths=(s.truth(f"{work.subject}/rank/{rank}", "job.rank_slow"),), needed=("rank_compute_seconds",)
    )


def sensor(s: Stager, lie: str) -> Situation:
    unit, rack, node = cdu_of_work(s), rack_of_work(s), s.work_node()
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
    """The agent of one node is silent: nothing is reported, and its job continues."""
    node = s.site.node_names[s.work_node()]
    return Situation(
        truths=(s.truth(node, "sensor.lost"),), silent=(((node + "/gpu/", node + "/nic/", node), s.start),)
    )


def rack_silent(s: Stager) -> Situation:
    rack = rack_of_work(s)
    nodes = [s.site.node_names[node] for node in np.flatnonzero(s.site.rack_of == rack)]
    cause = s.site.racks[rack] if len(nodes) > 1 else nodes[0]
    return Situation(
        truths=(s.truth(cause, "sensor.lost"),),
        silent=((tuple(f"{node}/" for node in nodes) + tuple(nodes), s.start),),
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
