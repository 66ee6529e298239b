"""Faults and distractors of a plant: target, time and magnitude."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf


@dataclass(frozen=True, slots=True)
class PlantFaultKind:
    name: str
    on: tuple[str, ...]
    magnitude: str
    bounds: tuple[float, float]
    typical: float
    draw: tuple[float, float]
    slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantFault:
    kind: str
    subject: str
    start: float
    magnitude: float
    ramp: float = 0.0
    end: float = inf
    signal: str = ""  # signal of a faulty sensor
    nodes: tuple[int, ...] = ()  # for a rollout: the affected nodes
    on: float = inf  # seconds for which the fault is present, then absent for `off`, repeatedly
    off: float = 0.0

    def level(self, now: float) -> float:
        """0 before the fault begins, 1 at its full level."""
        if not self.start <= now < self.end or (now - self.start) % (self.on + self.off) >= self.on:
            return 0.0
        return min(1.0, (now - self.start) / self.ramp) if self.ramp else 1.0

    def strength(self, now: float) -> float:
        return self.magnitude * self.level(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distractor:
    """Something that looks like a fault but is none."""

    kind: str
    subject: str
    start: float
    seconds: float = 0.0
    magnitude: float = 0.0
    signal: str = ""

    def active(self, now: float) -> bool:
        return self.start <= now < self.start + self.seconds

    def happens(self, now: float, step: float) -> bool:
        return now <= self.start < now + step


DISTRACTORS = {
    "ambient_wiggle": ("room", "the room gets warmer by `magnitude` degrees and cools again within `lasts`"),
    "load_change": ("job", "the job has a lighter load: its GPUs draw `magnitude` (a share) less power for `lasts`"),
    "slow_steps": ("job", "steps take `magnitude` (a share) longer for `lasts`, equally in all ranks"),
    "storage_burst": ("storage", "another client reads: latency is (1 + `magnitude`) times as high for `lasts`"),
    "sensor_gap": ("any", "`signal` of the subject is missing for `lasts`"),
    "route_change": ("switch", "the subnet manager reroutes and nothing gets worse: an event"),
    "rollout": ("node", "a node gets a new driver and nothing happens: an event"),
    "xid": ("gpu", "an application error (Xid 13) that does not concern the fleet: an event"),
    "port_flap": ("port", "a port goes down and is back after two seconds: two events"),
}


@cache
def kinds() -> dict[str, PlantFaultKind]:
    text = files("holdfast.lab.twin.plant").joinpath("kinds.toml").read_text(encoding="utf-8")
    return {name: _kind(name, table) for name, table in tomllib.loads(text).items()}


def _kind(name: str, table: dict[str, object]) -> PlantFaultKind:
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return PlantFaultKind(name, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Faults:
    """All faults of a plant, queried by kind and time."""

    all: tuple[PlantFault, ...] = ()

    def strong(self, kind: str, now: float) -> Iterator[tuple[PlantFault, float]]:
        for fault in self.all:
            if fault.kind == kind and (strength := fault.strength(now)) > 0:
                yield fault, strength
