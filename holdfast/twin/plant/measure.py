"""What sensors say of what is: noise of each signal, quick and slow, the same for the same seed whatever goes wrong."""

from math import exp, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Column = dict[str, npt.NDArray[np.float32]]

SLOW_SECONDS = 600.0
SLOW_SHARE = 0.6  # of the spread; the rest is white
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
AT_LEAST = 1e-4  # what is measured relatively and is nothing still has this little of itself


def sigma(signal: str, value: Floats) -> Floats:
    """How far a reading may well be from the truth."""
    if signal in ABSOLUTE:
        return np.full_like(value, ABSOLUTE[signal])
    return np.abs(value) * RELATIVE.get(signal, 0.0)


class Measurement:
    """The sensors of a plant. As many draws a step as there are rows, so that a fault changes no noise."""

    def __init__(self, seed: int, step: float) -> None:
        self._random = np.random.default_rng([seed, 7])
        self._keep = exp(-step / SLOW_SECONDS)
        self._slow: dict[str, npt.NDArray[np.float32]] = {}

    def read(self, signal: str, truth: Floats) -> npt.NDArray[np.float32]:
        if signal not in RELATIVE and signal not in ABSOLUTE:
            return truth.astype(np.float32)
        white = self._random.standard_normal(truth.shape, np.float32)
        fresh = self._random.standard_normal(truth.shape, np.float32)
        slow = self._slow.get(signal)
        slow = fresh if slow is None else self._keep * slow + sqrt(1 - self._keep**2) * fresh
        self._slow[signal] = slow
        noise = sqrt(1 - SLOW_SHARE**2) * white + SLOW_SHARE * slow
        found = truth + sigma(signal, truth) * noise
        if signal.endswith(("_ratio", "_second", "_seconds", "_share")):
            np.maximum(found, 0.0, out=found)
        return found.astype(np.float32)
