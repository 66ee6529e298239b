"""Readings of random instruments: noise, resolution, cadence, phase, gaps and missing meters."""

from collections.abc import Callable, Collection

import numpy as np

from holdfast.fleet.incidents.window import HELD_CADENCES, held
from holdfast.lab.drills.wide.conditions import Conditions, Truths
from holdfast.lab.drills.wide.laws import FAMILIES, metered, reported
from holdfast.lab.drills.wide.site import Floats
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, SignalTable, Values

METERED = {
    "ambient_celsius": 0.8, "cdu_flow_litres_per_minute": 0.85, "cdu_supply_celsius": 0.85, "cdu_return_celsius": 0.6,
    "cdu_pump_speed_ratio": 0.5, "cdu_differential_pressure_pascals": 0.5, "rack_flow_litres_per_minute": 0.5,
    "rack_inlet_celsius": 0.5, "node_inlet_celsius": 0.6, "fan_speed_ratio": 0.7, "rack_power_watts": 0.6,
    "rack_power_limit_watts": 0.4, "feed_voltage_volts": 0.7, "feed_power_limit_watts": 0.2, "psu_healthy": 0.8,
    "psu_output_watts": 0.6, "node_power_watts": 0.7, "gpu_clock_event_reasons": 0.8, "gpu_power_limit_watts": 0.7,
    "gpu_power_watts": 0.9, "gpu_utilization_ratio": 0.95, "port_xmit_wait_ratio": 0.7,
    "port_bandwidth_bytes_per_second": 0.6, "link_bandwidth_bytes_per_second": 0.8, "link_utilization_ratio": 0.8,
    "link_congestion_ratio": 0.7, "link_errors_per_second": 0.7, "storage_latency_seconds": 0.8,
    "storage_metadata_seconds": 0.7, "storage_write_bytes_per_second": 0.7, "job_throughput_ratio": 0.4,
    "job_collective_seconds": 0.5, "job_checkpoint_seconds": 0.7, "job_checkpoint_interval_seconds": 0.5,
    "job_restart_seconds": 0.5, "rank_compute_seconds": 0.7, "rank_data_seconds": 0.5, "rank_wait_seconds": 0.4,
    "rank_checkpoint_seconds": 0.5, "pool_transfer_seconds": 0.9, "pool_routing_share": 0.8, "pool_stall_ratio": 0.8,
    "request_latency_seconds": 0.8, "request_rate_per_second": 0.5,
}  # fmt: skip
ALWAYS = ("gpu_temperature_celsius", "gpu_clock_sm_hertz", "job_step_seconds")
FACILITY = ("ambient_", "cdu_", "rack_", "feed_", "psu_", "node_", "fan_")
NOISE = {  # noise of one reading: relative, absolute
    "celsius": (0.0, 0.25), "minute": (0.008, 0.0), "pascals": (0.012, 0.0), "watts": (0.01, 0.0),
    "volts": (0.003, 0.0), "hertz": (0.002, 0.0), "ratio": (0.0, 0.008), "share": (0.01, 0.0),
}  # fmt: skip
BY_NAME = {
    "link_utilization_ratio": (0.05, 0.0), "link_congestion_ratio": (0.0, 0.008), "port_xmit_wait_ratio": (0.0, 0.004),
    "storage_latency_seconds": (0.1, 0.0), "storage_metadata_seconds": (0.1, 0.0), "pool_transfer_seconds": (0.05, 0.0),
    "request_latency_seconds": (0.03, 0.0), "storage_write_bytes_per_second": (0.06, 0.0),
    "request_rate_per_second": (0.04, 0.0), "cdu_pump_speed_ratio": (0.006, 0.0), "fan_speed_ratio": (0.015, 0.0),
    "pool_stall_ratio": (0.0, 0.004), "link_errors_per_second": (0.0, 0.02),
}  # fmt: skip
EXACT = ("gpu_clock_event_reasons", "gpu_power_limit_watts", "rack_power_limit_watts", "feed_power_limit_watts",
         "psu_healthy", "job_checkpoint_interval_seconds", "job_restart_seconds", "job_step_seconds",
         "job_throughput_ratio", "rank_compute_seconds", "rank_data_seconds", "rank_wait_seconds",
         "job_collective_seconds", "link_bandwidth_bytes_per_second", "port_bandwidth_bytes_per_second",
         "job_checkpoint_seconds", "rank_checkpoint_seconds")  # fmt: skip
WHITE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "tuned": lambda rng, shape: rng.standard_normal(shape),
    "other": lambda rng, shape: rng.laplace(size=shape) / 1.41,
    "third": lambda rng, shape: rng.standard_t(4, size=shape) / 1.41,
}
RESOLUTION = {
    "celsius": (0.1, 0.5, 1.0, 1.0), "minute": (0.1, 1.0), "pascals": (100.0, 1000.0), "watts": (1.0, 10.0),
    "volts": (0.1, 1.0), "hertz": (15e6, 5e6), "ratio": (0.001, 0.01),
}  # fmt: skip


def read(
    conditions: Conditions, truths: Truths, needed: Collection[str], unmetered: Collection[str], jobs: tuple[Job, ...]
) -> Panel:
    """Reads the site. `needed`: meters without which the cause cannot be found. `unmetered`: families of meters that
    the site lacks."""
    site, times = conditions.site, conditions.times
    rng = np.random.default_rng([site.seed, 5, FAMILIES.index(site.family)])
    facility, telemetry, runtime = (float(rng.choice([1, 5, 10, 15, 30, 60])) for _ in range(3))
    gpu = float(rng.choice([10, 15, 30, 60, 60]))
    if (own := site.laws.own) is not None:
        facility, telemetry, runtime, gpu = (float(rng.choice(own.ranges(site.seed).cadences)) for _ in range(4))
    tables = {}
    for name, (subjects, values) in truths.items():
        has = (
            name in ALWAYS
            or name in needed
            or rng.random() < metered(site.laws, site.family, name, METERED.get(name, 0.7))
        )
        if not has or any(name.startswith(prefix) for prefix in unmetered) or not subjects:
            continue
        cadence = facility if name.startswith(FACILITY) else gpu if name.startswith("gpu_") else telemetry
        cadence = (
            runtime
            if name.startswith(("job_", "rank_", "pool_", "request_")) and not name.startswith("rack")
            else cadence
        )
        tables[name] = SignalTable(subjects, instrument(conditions, name, values, cadence, rng))
    return Panel(times, tables, tuple(sorted(conditions.events, key=lambda event: event.at)), jobs)


def instrument(conditions: Conditions, name: str, values: Floats, cadence: float, rng: np.random.Generator) -> Values:
    site, k, own = conditions.site, conditions.site.constants, conditions.site.laws.own
    unit = name.rpartition("_")[2]
    relative, absolute = BY_NAME.get(name) or NOISE.get(unit, (0.02, 0.0))
    found = values.astype(float)
    if name.startswith(FACILITY) and name not in EXACT:
        found = reported(site.laws, found, site.step)
    if name not in EXACT:
        noise = _noise(conditions, found.shape, rng)
        if own is not None and unit in ("minute", "pascals", "watts"):
            found = found * own.gains(len(found), site.seed, rng)
        noise = noise + (rng.random(found.shape) < k["outliers"]) * 6 * rng.standard_normal(found.shape)
        found = found + (np.abs(found) * relative + absolute) * k["noise"] * noise
        if name.endswith(("_ratio", "_seconds", "_share", "_second", "_watts", "_minute")):
            found = np.maximum(found, 0.0)
        if name.endswith(("utilization_ratio", "_share")):
            found = np.minimum(found, 1.0)
    steps = RESOLUTION.get(unit, ())
    if unit == "celsius" and own is not None:
        steps = own.ranges(site.seed).degrees
    if steps and name not in EXACT:
        width = float(rng.choice(steps))
        if unit == "minute" and float(np.nanmedian(np.abs(found))) < 20:
            width = 0.1
        found = np.round(found / width) * width
    found = _as_due(conditions, found, max(1, round(cadence / site.step)), rng)
    slowest = cadence * (own.holds(site.laws.meters) if own is not None else 1)
    wait = max(1, round(max(slowest, site.step) * HELD_CADENCES / site.step))
    return held(found.astype(np.float32), wait)


def _as_due(conditions: Conditions, found: Floats, every: int, rng: np.random.Generator) -> Floats:
    """Keeps only the readings that are due; every subject has its own phase."""
    if (own := conditions.site.laws.own) is not None:
        read_at = own.due(conditions.site.laws.meters, found, every, conditions.site.seed, rng) > 0
        return np.where(read_at, found, np.nan)
    if every == 1:
        return found
    phase = rng.integers(0, every, (found.shape[0], 1))
    return np.where((np.arange(found.shape[1])[None, :] + phase) % every == 0, found, np.nan)


def _noise(conditions: Conditions, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    site, share = conditions.site, conditions.site.constants["slow_noise"]
    if site.laws.own is not None:
        return site.laws.own.noise(shape, site.step, site.seed, rng)
    white = WHITE[site.family](rng, shape)
    return np.asarray(np.sqrt(1 - share**2) * white + share * _wandering(shape, site.step, rng))


def _wandering(shape: tuple[int, ...], step: float, rng: np.random.Generator) -> Floats:
    keep = np.exp(-step / 500.0)
    fresh = rng.standard_normal(shape)
    found = fresh.copy()
    for column in range(1, shape[1]):
        found[:, column] = keep * found[:, column - 1] + np.sqrt(1 - keep**2) * fresh[:, column]
    return found


def jobs_of(conditions: Conditions) -> tuple[Job, ...]:
    site = conditions.site
    return tuple(
        Job(id=work.name, source="drawn", nodes=tuple(site.node_names[node].partition("/")[2] for node in work.nodes),
            gpus=len(work.nodes) * site.per_node, start=0.0, state=JobState.RUNNING)
        for work in site.works
    )  # fmt: skip
