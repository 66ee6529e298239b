"""Families of plants and their laws: control loops, meters, topologies, power, storage and workloads.

Limits and confidence were set on all families but `unseen` (unseen.py). That family shares no cooling law, meter or
noise with the others and is kept out of tuning.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from holdfast.lab.drills.wide import fifth, fourth, seventh, sixth, unseen

if TYPE_CHECKING:
    from holdfast.lab.drills.wide.site import Floats, SiteJob

FAMILIES = ("tuned", "other", "third", "fourth", "fifth", "sixth", "seventh", "unseen")
COOLING = ("fixed", "delta_t", "variable_pump", "free", "rear_door", "immersion")
FABRIC = ("fat_tree", "three_tier", "dual_plane", "dragonfly")
POWER = ("2n", "catcher", "bess")
STORAGE = ("parallel", "object", "nvme_cache")
MIX = ("large", "many_small", "inference", "mixed")
SMALL_JOB_NODES = 3
PUMP_PERIOD, FREE_PERIOD = 1100.0, 1500.0
THIRD_COOLING = ("reset", "staged", "economizer", "tank")
THIRD_METERS = ("plain", "deadband", "averaged", "late")
THIRD_WORK = ("steady", "phases", "ramps")
TANK_PERIOD = 7200.0
MANY_PARTS = ("sixth", "seventh", "unseen")  # families that have all fabrics, power and storage


class OwnRanges(Protocol):
    @property
    def cadences(self) -> tuple[float, ...]: ...
    @property
    def degrees(self) -> tuple[float, ...]: ...


class OwnLaws(Protocol):
    """A module with the laws of one family."""

    @property
    def COOLING(self) -> tuple[str, ...]: ...
    @property
    def METERS(self) -> tuple[str, ...]: ...
    @property
    def WORK(self) -> tuple[str, ...]: ...
    @property
    def ranges(self) -> Callable[[int], OwnRanges]: ...
    def supply(self, cooling: str, times: "Floats", units: int, slope: float, offset: float, seed: int) -> "Floats": ...
    def flow(self, cooling: str, times: "Floats", power: "Floats", offset: float) -> "Floats": ...
    def valves(self, cooling: str, load: "Floats") -> "Floats": ...
    def work(self, how: str, times: "Floats", number: int, offset: float, seed: int) -> "Floats": ...
    def shape(self, times: "Floats", since: "Floats", ramp: float, seed: int) -> "Floats": ...
    def returns(self, since: "Floats", seed: int) -> "Floats": ...
    def noise(self, shape: tuple[int, ...], step: float, seed: int, rng: np.random.Generator) -> "Floats": ...
    def gains(self, rows: int, seed: int, rng: np.random.Generator) -> "Floats": ...
    def reported(self, meters: str, values: "Floats", step: float) -> "Floats": ...
    def due(self, meters: str, values: "Floats", every: int, seed: int, rng: np.random.Generator) -> "Floats": ...
    def holds(self, meters: str) -> int: ...


class ChoosingLaws(Protocol):
    """Laws of a family that also chooses the meters of a site, and the start and end of a fault."""

    def metered(self, name: str, usual: float, seed: int) -> float: ...
    def start(self, rng: np.random.Generator) -> float: ...
    def repaired(self, rng: np.random.Generator) -> float: ...


OWN: dict[str, OwnLaws] = {"fourth": fourth, "fifth": fifth, "sixth": sixth, "seventh": seventh, "unseen": unseen}
CHOOSES: dict[str, ChoosingLaws] = {"seventh": seventh, "unseen": unseen}


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    cooling: str = "fixed"
    fabric: str = "fat_tree"
    power: str = "2n"
    storage: str = "parallel"
    mix: str = "large"
    meters: str = "plain"  # how meters of the facility report
    work: str = "steady"  # how a job's power varies while its step time is constant
    slope: float = 0.0  # degrees per hour by which free cooling follows the weather
    offset: float = 0.0  # times of economizer mode changes, as shares of the drill; period of phases
    own: OwnLaws | None = None  # module of a family with its own laws
    seed: int = 0  # seed of its ranges

    @property
    def unmetered(self) -> tuple[str, ...]:
        """Meters that such a plant does not have."""
        without = {
            "rear_door": ("rack_flow", "rack_inlet", "cdu_differential"),
            "immersion": ("rack_flow", "rack_inlet", "fan_", "node_inlet"),
        }
        return without.get(self.cooling, ()) + (("storage_metadata",) if self.storage == "object" else ())


def draw_laws(rng: np.random.Generator, family: str, seed: int = 0) -> Laws:
    def one(among: tuple[str, ...]) -> str:
        return str(rng.choice(among))

    if family == "tuned":
        return Laws()
    if family == "other":
        return Laws(
            cooling=one(COOLING), fabric=one(FABRIC), power=one(POWER), storage=one(STORAGE), mix=one(MIX),
            slope=float(rng.uniform(-2.0, 2.0)),
        )  # fmt: skip
    if (own := OWN.get(family)) is not None:
        parts = (
            {"fabric": one(FABRIC), "power": one(("2n", "catcher", "bess", "sagging")), "storage": one(STORAGE)}
            if family in MANY_PARTS
            else {}
        )
        return Laws(
            **parts,
            cooling=one(own.COOLING), mix=one(("interleaved", "scattered", "large", "many_small")),
            meters=one(own.METERS), work=one(own.WORK), slope=float(rng.uniform(-1.8, 1.8)),
            offset=float(rng.uniform(0.1, 0.9)), own=own, seed=seed,
        )  # fmt: skip
    return Laws(
        cooling=one(THIRD_COOLING), power="sagging", mix=one(("scattered", "scattered", "large")),
        meters=one(THIRD_METERS), work=one(THIRD_WORK), slope=float(rng.uniform(0.8, 2.4)),
        offset=float(rng.uniform(0.2, 0.9)),
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
    return unseen.constants(found, laws.seed) if laws.own is unseen else found


def works(laws: Laws, drawn: "tuple[SiteJob, ...]", lasts: float, rng: np.random.Generator) -> "tuple[SiteJob, ...]":
    """Adds many small jobs to the first, which start and end at any time; with a cache, checkpoints are short."""
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
    """Flow that a unit's control requests from its pump, relative to normal. `power`: power of the racks behind each
    unit."""
    if laws.own is not None:
        return laws.own.flow(laws.cooling, times, power, laws.offset)
    if laws.cooling == "delta_t":
        first = np.median(power[:, : max(3, power.shape[1] // 4)], axis=1, keepdims=True)
        return np.clip(power / np.maximum(first, 1e-9), 0.45, 1.25)
    if laws.cooling == "variable_pump":
        phase = np.arange(len(power))[:, None]
        return 1 + 0.04 * np.sin(2 * np.pi * times / PUMP_PERIOD + phase)
    if laws.cooling == "staged":
        first = np.median(power[:, : max(3, power.shape[1] // 4)], axis=1, keepdims=True)
        return np.asarray(np.clip(np.ceil(8 * power / np.maximum(first, 1e-9)) / 8, 0.5, 1.25))
    return np.ones_like(power)


def supply_follows(laws: Laws, times: "Floats", load: "Floats") -> "Floats":
    """Normal variation of each unit's supply temperature, in degrees. `load`: load of its racks, relative to normal."""
    if laws.own is not None:
        return laws.own.supply(laws.cooling, times, len(load), laws.slope, laws.offset, laws.seed)
    still = np.zeros((len(load), len(times)))
    if laws.cooling == "free":  # weather, and fan stages
        return still + laws.slope * times / 3600 + 0.4 * np.sign(np.sin(2 * np.pi * times / FREE_PERIOD))
    if laws.cooling == "reset":  # colder at higher load
        return np.asarray(laws.slope * 1.5 * np.clip(1 - load, -1, 1))
    if laws.cooling == "economizer":  # mode changes within a minute
        return np.asarray(still + laws.slope * (times >= laws.offset * times[-1]))
    if laws.cooling == "tank":  # a cold storage that is discharged and charged
        return still + laws.slope / 2 * np.sin(2 * np.pi * times / TANK_PERIOD)
    return still


def work_moves(laws: Laws, times: "Floats", number: int) -> "Floats":
    """Variation of a job's own power: phases of generation and training, or a growing batch size."""
    if laws.own is not None:
        return laws.own.work(laws.work, times, number, laws.offset, laws.seed)
    if laws.work == "phases":
        period = 240 + 700 * laws.offset
        return np.where((times + 97.0 * number) % period < period / 2, 1.0, 0.8)
    if laws.work == "ramps":
        return 1 + 0.15 * np.sin(2 * np.pi * times / 5400 + number)
    return np.ones_like(times)


def metered(laws: Laws, family: str, name: str, usual: float) -> float:
    """Probability that a site has meters of this signal."""
    return CHOOSES[family].metered(name, usual, laws.seed) if family in CHOOSES else usual


def reported(laws: Laws, values: "Floats", step: float) -> "Floats":
    """Values as a facility's meter reports them: means over minutes, only relevant changes, or everything late."""
    if laws.own is not None:
        return laws.own.reported(laws.meters, values, step)
    if laws.meters == "averaged":
        width = max(1, round(180 / step))
        sums = np.cumsum(np.concatenate([values[:, :1].repeat(width, axis=1), values], axis=1), axis=1)
        return np.asarray((sums[:, width:] - sums[:, :-width]) / width)
    if laws.meters == "late":
        width = max(1, round(90 / step))
        return np.concatenate([values[:, :1].repeat(width, axis=1), values], axis=1)[:, : values.shape[1]]
    if laws.meters == "deadband":
        found = values.copy()
        for column in range(1, values.shape[1]):
            before = found[:, column - 1]
            near = np.abs(values[:, column] - before) < 0.015 * np.abs(before)
            found[:, column] = np.where(near, before, values[:, column])
        return found
    return values
