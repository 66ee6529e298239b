"""True state of a random site over time in columns: heat, power, fabric, storage, serving and jobs."""

import numpy as np
import numpy.typing as npt

from holdfast.lab.drills.wide import unseen
from holdfast.lab.drills.wide.conditions import Conditions, Truths, lagged, pressure_of
from holdfast.lab.drills.wide.jobs import job_state, job_truths
from holdfast.lab.drills.wide.laws import flow_asked, supply_follows, work_moves
from holdfast.lab.drills.wide.site import Floats

CAP, SLOWED, THERMAL, BRAKE = 4, 8, 32, 128  # NVML's clock event reasons


def truth(conditions: Conditions) -> Truths:
    site = conditions.site
    states = {work.name: job_state(conditions, work) for work in site.works}
    use, draw = _load(conditions, states)
    k = site.constants
    limited = np.minimum(
        1.0, np.maximum(conditions.limit * 1.0 / np.maximum(draw, 0.05), 0.02) ** (1 / k["clock_power"])
    )
    limited = np.where(conditions.limit < 0.999, limited, 1.0)
    clock = np.minimum(np.minimum(limited, conditions.brake), conditions.slow)
    warmth, cooled = _heat(conditions, clock, draw)
    clock = np.minimum(clock, cooled)
    span = k["full_watts"] - k["idle_watts"]
    watts = k["idle_watts"] + span * draw * clock ** k["clock_power"]
    jobs = job_truths(conditions, clock, states)
    found: Truths = {**warmth, **_power(conditions, watts), **_fabric(conditions, states, jobs)}
    gpus = tuple(site.gpu_names)
    reasons = (
        CAP * ((conditions.limit < 0.999) & (limited < 0.99))
        + THERMAL * (cooled < 0.985)
        + BRAKE * (conditions.brake < 0.985)
        + SLOWED * (conditions.slow < 0.985)
    )
    found |= {
        "gpu_clock_sm_hertz": (gpus, k["clock"] * np.where(use > 0.05, clock, 1.0)),
        "gpu_power_watts": (gpus, watts),
        "gpu_utilization_ratio": (gpus, use),
        "gpu_clock_event_reasons": (gpus, reasons.astype(float)),
        **_storage(conditions, states),
        **_serving(conditions),
        **jobs,
    }
    return found


def _load(conditions: Conditions, states: dict[str, npt.NDArray[np.int8]]) -> tuple[Floats, Floats]:
    site, count = conditions.site, len(conditions.times)
    use = np.zeros((site.nodes * site.per_node, count))
    draw = np.full_like(use, 0.02)
    for number, work in enumerate(site.works):
        state, gpus = states[work.name], site.gpus_of(work.nodes)
        kinds = [state == 1, state == 2, state == 3, state == 4]
        use[gpus] = np.select(kinds, [work.use, 0.3 * work.use, 0.01, 0.6 * work.use], 0.0)
        hard = work.draw * conditions.work_draw[work.name] * work_moves(site.laws, conditions.times, number)
        draw[gpus] = np.select(kinds, [hard, 0.35 * hard, 0.04, 0.6 * hard], 0.02)
    if site.pools:
        gpus = site.gpus_of(site.pool_nodes)
        busy = np.clip(0.5 * conditions.requests * _trend(conditions), 0.05, 1.0)
        use[gpus], draw[gpus] = busy, 0.8 * busy
    own = 1 + 0.03 * site.rng.standard_normal((len(use), 1))
    return np.clip(use, 0, 1), np.clip(draw * own, 0.02, 1.05)


def _trend(conditions: Conditions) -> Floats:
    hours = conditions.times / 3600
    return 1 + conditions.site.constants["request_trend"] * np.sin(hours * 1.3)


def _heat(conditions: Conditions, clock: Floats, draw: Floats) -> tuple[Truths, Floats]:
    site, k = conditions.site, conditions.site.constants
    hours = conditions.times / 3600
    ambient = lagged(k["ambient"] + k["ambient_trend"] * hours + conditions.ambient, site.step, 200.0)
    over = np.maximum(0.0, ambient[site.room_of] - k["ambient"] - 3.0)
    weather = supply_follows(site.laws, conditions.times, _load_share(conditions, clock, draw))
    supply = lagged(
        k["setpoint"] + weather + k["ambient_to_supply"] * over + conditions.supply, site.step, k["coolant_inertia"]
    )
    of_rack = np.bincount(site.rack_of, minlength=len(site.racks)).astype(float)
    whole = np.bincount(site.cdu_of, of_rack, len(site.cdus))
    wide = of_rack[:, None] * conditions.opened
    if site.laws.own is not None:
        wide = wide * site.laws.own.valves(site.laws.cooling, _load_of_racks(conditions, clock, draw))
    opened = np.stack([wide[site.cdu_of == unit].sum(axis=0) for unit in range(len(site.cdus))]) / whole[:, None]
    opened = np.maximum(opened, 0.02)
    asked = _asked(conditions, clock, draw)
    flow = conditions.flow * asked
    cdu_flow = k["flow_per_node"] * whole[:, None] * flow * opened**0.6
    rack_flow = wide * k["flow_per_node"] * (flow * opened**-0.4)[site.cdu_of]
    share = np.maximum(0.03, rack_flow / (of_rack * k["flow_per_node"])[:, None])
    rack = site.rack_of[site.node_of_gpu]
    watts = draw * clock ** k["clock_power"]
    spread = 1 + k["rise_spread"] * site.rng.standard_normal((len(watts), 1))
    liquid = share[rack] ** -k["flow_power"]
    room = ambient[site.room_of[site.cdu_of[rack]]]
    air = k["air_share"] * (np.maximum(conditions.fans[site.node_of_gpu], 0.03) ** -k["fan_power"] - 1)
    target = supply[site.cdu_of[rack]] + k["rise"] * spread * watts * (liquid + air)
    target = target + k["air_share"] * (room - k["ambient"])
    heat = lagged(np.minimum(target, 112.0), site.step, k["inertia"])
    hot = np.maximum(0.0, heat - k["throttle"])
    left = np.clip(1 - k["throttle_slope"] * hot, 0.35, 1.0)
    # Throttling keeps the temperature near its limit.
    heat = np.minimum(heat, k["throttle"] + 0.35 * hot + 0.5)
    hottest = heat.reshape(site.nodes, site.per_node, -1).max(axis=1)
    first = hottest[:, :1]
    fans = np.clip(k["fan"] + k["fan_follows"] * np.maximum(0.0, hottest - first - 3), 0, 1.0) * conditions.fans
    returned = supply + 8.0 / np.maximum(flow if site.laws.cooling != "delta_t" else conditions.flow, 0.05)
    if site.laws.own is unseen:  # the temperature rise is proportional to the heat
        behind = np.bincount(site.cdu_of[rack], minlength=len(site.cdus))[:, None]
        returned = supply + lagged(
            12.0 * _behind(conditions, clock, draw) / behind / np.maximum(flow, 0.05), site.step, k["coolant_inertia"]
        )
    inlet = room.reshape(site.nodes, site.per_node, -1)[:, 0] + 2.0
    signals: Truths = {
        "ambient_celsius": (tuple(site.rooms), ambient),
        "cdu_flow_litres_per_minute": (tuple(site.cdus), cdu_flow),
        "cdu_supply_celsius": (tuple(site.cdus), supply),
        "cdu_return_celsius": (tuple(site.cdus), returned),
        "cdu_pump_speed_ratio": (tuple(site.cdus), np.clip(k["pump"] * conditions.pump * asked, 0, 1.2)),
        "cdu_differential_pressure_pascals": (tuple(site.cdus), k["pressure"] * flow**2 * opened**-0.5),
        "rack_flow_litres_per_minute": (tuple(site.racks), rack_flow),
        "rack_inlet_celsius": (tuple(site.racks), supply[site.cdu_of] + 0.5),
        "node_inlet_celsius": (tuple(site.node_names), inlet),
        "fan_speed_ratio": (tuple(site.node_names), fans),
        "gpu_temperature_celsius": (tuple(site.gpu_names), heat),
    }
    return signals, left


def _behind(conditions: Conditions, clock: Floats, draw: Floats) -> Floats:
    """Power of the GPUs behind each unit."""
    site = conditions.site
    unit = site.cdu_of[site.rack_of[site.node_of_gpu]]
    watts = draw * clock ** site.constants["clock_power"]
    return np.stack([watts[unit == place].sum(axis=0) for place in range(len(site.cdus))])


def _load_of_racks(conditions: Conditions, clock: Floats, draw: Floats) -> Floats:
    """Load of the racks, relative to its first quarter, smoothed as a valve follows it."""
    site = conditions.site
    rack, watts = site.rack_of[site.node_of_gpu], draw * clock ** site.constants["clock_power"]
    each = np.stack([watts[rack == place].sum(axis=0) for place in range(len(site.racks))])
    usual = np.median(each[:, : max(3, each.shape[1] // 4)], axis=1, keepdims=True)
    return lagged(each / np.maximum(usual, 1e-9), site.step, 120.0)


def _load_share(conditions: Conditions, clock: Floats, draw: Floats) -> Floats:
    behind = _behind(conditions, clock, draw)
    return behind / np.maximum(np.median(behind[:, : max(3, behind.shape[1] // 4)], axis=1, keepdims=True), 1e-9)


def _asked(conditions: Conditions, clock: Floats, draw: Floats) -> Floats:
    """Flow that the control of each unit requests; it follows the load of its racks with inertia."""
    site, behind = conditions.site, _behind(conditions, clock, draw)
    return lagged(flow_asked(site.laws, conditions.times, behind), site.step, 60.0)


def _power(conditions: Conditions, watts: Floats) -> Truths:
    site, k = conditions.site, conditions.site.constants
    node = watts.reshape(site.nodes, site.per_node, -1).sum(axis=1) + k["host_watts"]
    rack = np.stack([node[site.rack_of == place].sum(axis=0) for place in range(len(site.racks))])
    healthy = (conditions.psu > 0.5) & (np.tile(conditions.volts, (len(site.racks), 1)) > 0.75)
    pairs = healthy.reshape(len(site.racks), 2, -1).astype(float)
    output = rack[:, None] * pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
    rated = 1.4 * rack.max(axis=1, keepdims=True)
    return {
        "node_power_watts": (tuple(site.node_names), node),
        "rack_power_watts": (tuple(site.racks), rack),
        "rack_power_limit_watts": (tuple(site.racks), rated * conditions.rack_limit),
        "feed_voltage_volts": _voltages(conditions),
        "feed_power_limit_watts": (("feed/x", "feed/y"), rated.sum() * conditions.feed_limit),
        "psu_healthy": (tuple(site.psus), healthy.astype(float)),
        "psu_output_watts": (tuple(site.psus), output.reshape(len(site.psus), -1)),
        "gpu_power_limit_watts": (tuple(site.gpu_names), k["full_watts"] * conditions.limit),
    }


def _voltages(conditions: Conditions) -> tuple[tuple[str, ...], Floats]:
    """The reserve feed of a catcher system is on standby; a battery bridges a lost feed for half a minute."""
    volts = conditions.site.constants["volts"] * conditions.volts
    if conditions.site.laws.power == "catcher":
        reserve = np.full((1, volts.shape[1]), conditions.site.constants["volts"])
        return ("feed/x", "feed/y", "feed/reserve"), np.concatenate([volts, reserve])
    if conditions.site.laws.power == "sagging":  # voltage under load, and its own variation
        volts = volts * (0.985 + 0.012 * np.sin(2 * np.pi * conditions.times / 1700.0))
    if conditions.site.laws.power == "bess":
        late = round(30.0 / conditions.site.step)
        volts = np.concatenate([volts[:, :1].repeat(late, axis=1), volts], axis=1)[:, : volts.shape[1]]
    return ("feed/x", "feed/y"), volts


def _fabric(conditions: Conditions, states: dict[str, npt.NDArray[np.int8]], jobs: Truths) -> Truths:
    site, k = conditions.site, conditions.site.constants
    load = np.zeros((len(site.leaves), len(conditions.times)))
    talks = np.zeros((site.nodes, len(conditions.times)))
    for row, work in enumerate(site.works):
        speed = np.nan_to_num(jobs["job_throughput_ratio"][1][row])
        talking = (states[work.name] == 1) * speed
        talks[work.nodes] = talking
        leaves = np.unique(site.leaf_of[work.nodes])
        if len(leaves) > 1:
            load[leaves] = np.maximum(load[leaves], talking)
    leaf = np.arange(len(site.links)) // site.spines
    over = np.maximum(pressure_of(conditions), 1.0)
    carried = 0.03 + k["link_load"] * load[leaf] * conditions.routes + 0.8 * conditions.foreign
    waits = 0.01 + 0.9 * (1 - 1 / over) * np.maximum(load[leaf], conditions.foreign > 0)
    port_busy = np.maximum(np.repeat(talks, site.per_node, axis=0), 0.15)
    return {
        "link_bandwidth_bytes_per_second": (tuple(site.links), 4e11 * conditions.link),
        "link_utilization_ratio": (tuple(site.links), np.minimum(carried, 0.99 * conditions.link)),
        "link_congestion_ratio": (tuple(site.links), waits),
        "link_errors_per_second": (tuple(site.links), conditions.errors),
        "port_xmit_wait_ratio": (tuple(site.port_names), k["port_wait"] + 0.8 * (1 - conditions.port) * port_busy),
        "port_bandwidth_bytes_per_second": (tuple(site.port_names), 5e10 * conditions.port),
    }


def _storage(conditions: Conditions, states: dict[str, npt.NDArray[np.int8]]) -> Truths:
    site, k = conditions.site, conditions.site.constants
    writing = np.stack([states[work.name] == 2 for work in site.works])
    sizes = np.array([len(work.nodes) * site.per_node * 1e10 / work.takes for work in site.works])
    quotas = np.stack([conditions.quota.get(work.name, np.ones(len(conditions.times))) for work in site.works])
    rate = (writing * sizes[:, None] * quotas).sum(axis=0) * conditions.store
    # Slow storage affects all requests, including the small ones between checkpoints.
    latency = k["store_latency"] * (1 + k["queue"] * writing.sum(axis=0)) * conditions.burst / conditions.store**1.5
    return {
        "storage_latency_seconds": (("storage/scratch",), latency[None, :]),
        "storage_metadata_seconds": (("storage/scratch",), (k["metadata"] + conditions.metadata)[None, :]),
        "storage_write_bytes_per_second": (
            ("storage/scratch",),
            np.where(writing.any(axis=0), rate, np.nan)[None, :],
        ),
    }


def _serving(conditions: Conditions) -> Truths:
    site, k = conditions.site, conditions.site.constants
    if not site.pools:
        return {}
    able = conditions.path.copy()
    pressure = np.maximum(pressure_of(conditions), 1.0)
    for number in range(len(site.paths)):
        if links := site.path_links(number):
            able[number] /= pressure[links].max(axis=0)
    over = conditions.share * len(site.paths) * conditions.requests * _trend(conditions) / np.maximum(able, 0.03)
    waits = np.maximum(0.0, 1 - k["headroom"] / np.maximum(over, k["headroom"]))
    transfer = k["transfer"] * np.maximum(over, 0.4) ** k["queue_power"]
    paths = tuple(site.paths)
    return {
        "pool_transfer_seconds": (paths, transfer),
        "pool_routing_share": (paths, conditions.share),
        "pool_stall_ratio": (paths, k["stall"] + 0.6 * waits),
        "request_latency_seconds": (paths, k["latency"] + 2 * (transfer - k["transfer"]) + 0.8 * waits),
        "request_rate_per_second": (paths, 40 * conditions.share * conditions.requests * _trend(conditions)),
    }
