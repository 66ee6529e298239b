"""Sensor noise of each signal, fast and slow; the same seed gives the same noise, whatever fails."""

from collections.abc import Mapping
from math import exp, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Column = dict[str, npt.NDArray[np.float32]]

SLOW_SECONDS = 600.0
SLOW_SHARE = 0.6  # share of the spread; the rest is white noise
RELATIVE = {
    "cdu_flow_litres_per_minute": 0.005, "cdu_pump_speed_ratio": 0.004, "cdu_differential_pressure_pascals": 0.01,
    "rack_flow_litres_per_minute": 0.01, "rack_power_watts": 0.004, "feed_voltage_volts": 0.003,
    "psu_output_watts": 0.008, "node_power_watts": 0.008, "fan_speed_ratio": 0.01, "gpu_clock_sm_hertz": 0.002,
    "gpu_power_watts": 0.01, "link_bandwidth_bytes_per_second": 0.002, "link_utilization_ratio": 0.04,
    "port_bandwidth_bytes_per_second": 0.002, "storage_write_bytes_per_second": 0.04,
    "storage_latency_seconds": 0.08, "storage_metadata_seconds": 0.08, "job_step_seconds": 0.003,
    "job_collective_seconds": 0.015, "rank_compute_seconds": 0.004, "rank_data_seconds": 0.05,
    "pool_transfer_seconds": 0.04, "pool_routing_share": 0.01, "request_latency_seconds": 0.02,
}  # fmt: skip
ABSOLUTE = {
    "ambient_celsius": 0.15, "cdu_supply_celsius": 0.1, "cdu_return_celsius": 0.12, "rack_inlet_celsius": 0.15,
    "node_inlet_celsius": 0.25, "gpu_temperature_celsius": 0.5, "gpu_utilization_ratio": 0.008,
    "link_congestion_ratio": 0.008, "link_errors_per_second": 0.01, "port_xmit_wait_ratio": 0.004,
    "storage_used_ratio": 0.0002, "rank_wait_seconds": 0.01, "job_throughput_ratio": 0.003,
    "pool_stall_ratio": 0.003,
}  # fmt: skip


def sigma(signal: str, value: Floats) -> Floats:
    """Typical error of a reading."""
    if signal in ABSOLUTE:
        return np.full_like(value, ABSOLUTE[signal])
    return np.abs(value) * RELATIVE.get(signal, 0.0)


class Measurement:
    """All sensors of a plant in one row. The noise never depends on the true values, so no fault changes it."""

    def __init__(self, seed: int, step: float, subjects: Mapping[str, tuple[str, ...]]) -> None:
        self._random = np.random.default_rng([seed, 7])
        self._keep = exp(-step / SLOW_SECONDS)
        self._signals = list(subjects)
        many = [len(subjects[name]) for name in self._signals]
        self._cuts = np.cumsum(many)[:-1]
        self._relative = np.repeat([RELATIVE.get(name, 0.0) for name in self._signals], many).astype(np.float32)
        self._absolute = np.repeat([ABSOLUTE.get(name, 0.0) for name in self._signals], many).astype(np.float32)
        floors = [0.0 if _never_below_zero(name) else -np.inf for name in self._signals]
        self._least = np.repeat(floors, many).astype(np.float32)
        self._slow = self._random.standard_normal(sum(many), np.float32)

    def read(self, truth: Mapping[str, Floats]) -> Column:
        flat = np.concatenate([truth[name] for name in self._signals]).astype(np.float32)
        white, fresh = self._random.standard_normal((2, len(flat)), np.float32)
        self._slow = np.float32(self._keep) * self._slow + np.float32(sqrt(1 - self._keep**2)) * fresh
        noise = np.float32(sqrt(1 - SLOW_SHARE**2)) * white + np.float32(SLOW_SHARE) * self._slow
        flat += (np.abs(flat) * self._relative + self._absolute) * noise
        np.maximum(flat, self._least, out=flat)
        return dict(zip(self._signals, np.split(flat, self._cuts), strict=True))


def _never_below_zero(signal: str) -> bool:
    measured = signal in RELATIVE or signal in ABSOLUTE
    return measured and signal.endswith(("_ratio", "_second", "_seconds", "_share"))
