"""Digest of a simulated node's GPUs, as its agent sends it once a minute."""

from typing import TYPE_CHECKING

from holdfast.lab.twin.fleet.keyed_random import KeyedRandom
from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.model.wire.digest import pack

if TYPE_CHECKING:
    from holdfast.lab.twin.fleet.plant import FleetPlant

_LOAD = {False: (38.0, 44.0, 78.0, 345e6, 0.0), True: (62.0, 74.0, 640.0, 1755e6, 0.97)}  # without and with a job
_HOT = {
    "gpu_temperature_celsius": 89.0,
    "gpu_memory_temperature_celsius": 96.0,
    "gpu_clock_sm_hertz": 990e6,
    "gpu_clock_event_reasons": 72.0,
}


def digest(node: FleetNode, at: float, rng: KeyedRandom, plant: "FleetPlant | None") -> bytes:
    """Plausible numbers: warm under load, hot and slow when throttling; in a fleet with a plant, the plant's
    temperatures."""
    gpus = [_gpu(node, gpu, at, rng, plant) for gpu in range(GPUS)]
    return pack(node.name, lambda subject, name: gpus[int(subject.rpartition("/")[2])].get(name))


def _gpu(node: FleetNode, gpu: int, at: float, rng: KeyedRandom, plant: "FleetPlant | None") -> dict[str, float]:
    seen = plant.read(node, gpu) if plant else _usual(node, at, rng)
    for fault in node.faults:
        if fault.kind.on == "gpu" and gpu in fault.parts:
            seen["gpu_clock_sm_hertz"] *= fault.kind.clock_share
            if fault.kind.name == "throttle_thermal":
                seen |= _HOT
    return seen


def _usual(node: FleetNode, at: float, rng: KeyedRandom) -> dict[str, float]:
    core, memory, power, clock, busy = _LOAD[bool(node.job)]
    warmer = 3.0 * rng.uniform("warmer", node.index, int(at))
    return {
        "gpu_temperature_celsius": core + warmer,
        "gpu_memory_temperature_celsius": memory + warmer,
        "gpu_power_watts": power,
        "gpu_clock_sm_hertz": clock,
        "gpu_clock_event_reasons": 0.0,
        "gpu_utilization_ratio": busy,
    }
