"""Hazards and scenarios of a simulated fleet, from hazards.toml and scenarios.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from holdfast.lab.twin.error import TwinError
from holdfast.model.health import Health


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultVerdict:
    """The verdict of a check on a fault, and when it comes, in seconds after the fault began."""

    check: str
    health: Health
    after: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardEvent:
    """The kernel message of a fault."""

    kind: str
    code: int | str
    text: str
    severity: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEventKind:
    name: str
    on: str
    per_gpu_year: float
    verdicts: tuple[FaultVerdict, ...]
    cures: Mapping[str, float]
    event: HazardEvent | None = None
    heals_seconds: float = 0.0
    unreachable: bool = False
    slows: float = 1.0
    clock_share: float = 1.0  # share of its clock that a GPU keeps
    fabric_share: float = 1.0  # share of its usual bandwidth that the node, or the trunk, keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    at: float
    kind: str  # from hazards.toml, or a fault of the plant
    within: float = 0.0
    lasts: float = 0.0  # 0: until repaired
    every: float = 0.0  # seconds until it happens again; 0: once
    behind: str = ""
    of: int = 1  # the node itself, or the node whose neighbours are affected
    to: int = 1  # for a trunk: a node behind its other end
    parts: str = "one"
    cured_by: str = ""
    once_running: str = ""
    subject: str = ""  # for a fault of the plant: its subject
    magnitude: float = 0.0
    ramp: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTraining:
    """A training that runs as long as the fleet, first on the nodes from number `first` on."""

    name: str
    first: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVisit:
    """Announced work on the nodes from number `first` on: an operator takes them out of service and returns them
    afterwards."""

    at: float
    first: int
    count: int
    lasts: float
    what: str
    every: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetScenario:
    name: str
    about: str
    acceleration: float
    places: Mapping[str, int]
    reports_progress: bool = False
    plant: bool = False
    runs: tuple[FleetTraining, ...] = ()
    strikes: tuple[Strike, ...] = ()
    visits: tuple[PlannedVisit, ...] = ()


@cache
def kinds() -> dict[str, FleetEventKind]:
    return {name: _kind(name, table) for name, table in _read("hazards.toml").items()}


@cache
def checks() -> tuple[str, ...]:
    """All checks that report any fault."""
    return tuple(dict.fromkeys(verdict.check for kind in kinds().values() for verdict in kind.verdicts))


def scenario(name: str) -> FleetScenario:
    known = scenarios()
    if name not in known:
        raise TwinError(f"no scenario is called {name!r}; expected one of {', '.join(known)}")
    return known[name]


@cache
def scenarios() -> dict[str, FleetScenario]:
    found = {}
    for name, table in _read("scenarios.toml").items():
        strikes = tuple(Strike(**strike) for strike in table.pop("strikes", ()))
        runs = tuple(FleetTraining(**run) for run in table.pop("runs", ()))
        visits = tuple(PlannedVisit(**visit) for visit in table.pop("visits", ()))
        found[name] = FleetScenario(name=name, strikes=strikes, runs=runs, visits=visits, **table)
    return found


def _kind(name: str, table: dict[str, Any]) -> FleetEventKind:
    verdicts = tuple(FaultVerdict(**{**verdict, "health": Health(verdict["health"])}) for verdict in table.pop("says"))
    event = HazardEvent(**table.pop("event")) if "event" in table else None
    return FleetEventKind(name=name, verdicts=verdicts, event=event, **table)


def _read(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("holdfast.lab.twin.fleet").joinpath(name).read_text(encoding="utf-8"))
