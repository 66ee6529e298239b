"""Laws of the unseen family: control loops, topologies, power, storage and job mixes that tuning never saw."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats, SiteJob

COOLING = ("fixed", "delta_t", "variable_pump", "free", "rear_door", "immersion")
FABRIC = ("fat_tree", "three_tier", "dual_plane", "dragonfly")
POWER = ("2n", "catcher", "bess")
STORAGE = ("parallel", "object", "nvme_cache")
MIX = ("large", "many_small", "inference", "mixed")
SMALL_JOB_NODES = 3
PUMP_PERIOD, FREE_PERIOD = 1100.0, 1500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    cooling: str = "fixed"
    fabric: str = "fat_tree"
    power: str = "2n"
    storage: str = "parallel"
    mix: str = "large"
    slope: float = 0.0  # degrees an hour that free cooling follows the weather by

    @property
    def unmetered(self) -> tuple[str, ...]:
        """Meters that such a plant does not have."""
        without = {
            "rear_door": ("rack_flow", "rack_inlet", "cdu_differential"),
            "immersion": ("rack_flow", "rack_inlet", "fan_", "node_inlet"),
        }
        return without.get(self.cooling, ()) + (("storage_metadata",) if self.storage == "object" else ())


def draw_laws(rng: np.random.Generator) -> Laws:
    def one(among: tuple[str, ...]) -> str:
        return str(rng.choice(among))

    return Laws(
        cooling=one(COOLING), fabric=one(FABRIC), power=one(POWER), storage=one(STORAGE), mix=one(MIX),
        slope=float(rng.uniform(-2.0, 2.0)),
    )  # fmt: skip


def constants(laws: Laws, usual: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    found = dict(usual)
    if laws.cooling == "immersion":
        found |= {"inertia": float(rng.uniform(300, 700)), "air_share": 0.0, "rise": float(rng.uniform(12, 25))}
    elif laws.cooling == "rear_door":
        found |= {"air_share": float(rng.uniform(0.4, 0.7)), "inertia": float(rng.uniform(30, 90))}
    if laws.storage == "object":
        found |= {"store_latency": float(rng.uniform(0.03, 0.2)), "queue": float(rng.uniform(0.0, 0.1))}
    elif laws.storage == "nvme_cache":
        found |= {"queue": 0.02}
    return found


def works(laws: Laws, drawn: "tuple[SiteJob, ...]", lasts: float, rng: np.random.Generator) -> "tuple[SiteJob, ...]":
    """Many small jobs beside the first, which start and end at any time; with a cache checkpoints are short."""
    found = list(drawn)
    if laws.mix in ("many_small", "mixed") and len(found) > 1:
        last = found.pop()
        for number in range(0, len(last.nodes), SMALL_JOB_NODES):
            begins = float(rng.uniform(0, 0.8 * lasts)) if rng.random() < 0.4 else -1e12
            ends = max(begins, 0.0) + float(rng.uniform(0.3, 1.5)) * lasts
            nodes = last.nodes[number : number + SMALL_JOB_NODES]
            found.append(replace(last, name=f"small{number}", nodes=nodes, begins=begins, ends=ends))
    if laws.storage == "nvme_cache":
        found = [replace(one, takes=float(rng.uniform(3, 12))) for one in found]
    return tuple(found)


def flow_asked(laws: Laws, times: "Floats", power: "Floats") -> "Floats":
    """What a unit's control asks of its pump, as a share of the usual; `power`: of the racks behind each unit."""
    if laws.cooling == "delta_t":
        first = np.median(power[:, : max(3, power.shape[1] // 4)], axis=1, keepdims=True)
        return np.clip(power / np.maximum(first, 1e-9), 0.45, 1.25)
    if laws.cooling == "variable_pump":
        phase = np.arange(len(power))[:, None]
        return 1 + 0.04 * np.sin(2 * np.pi * times / PUMP_PERIOD + phase)
    return np.ones_like(power)


def supply_follows(laws: Laws, times: "Floats") -> "Floats":
    """Degrees by which free cooling lets the supply follow the weather and its own fan stages."""
    if laws.cooling != "free":
        return np.zeros_like(times)
    return laws.slope * times / 3600 + 0.4 * np.sign(np.sin(2 * np.pi * times / FREE_PERIOD))
