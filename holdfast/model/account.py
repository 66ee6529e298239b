"""An account: what a seam's finding says, what it costs and who must know, kept with its incident."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one job, or one pair of inference pools, loses by it."""

    subject: Subject
    gpus: float | None  # None: nobody says how many it holds
    share_so_far: float | None  # of its throughput, on average since it began; None: not measured
    share_now: float | None
    tokens_per_second: float | None = None
    milestone: str = ""
    day_value: float | None = None
    float_days: float = 0.0
    critical_chance: float = 1.0

    @property
    def gpu_hours_per_hour(self) -> float | None:
        return None if self.gpus is None or self.share_now is None else self.gpus * self.share_now


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    name: str
    so_far: float | None  # None: what it takes to price it was not given
    if_it_goes_on: float | None
    formula: str
    inputs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Five layers always; beside the money what it is in progress."""

    layers: tuple[LayerCost, ...] = ()
    hours: float = 0.0
    horizon_hours: float = 24.0
    gpu_hours: float = 0.0
    gpu_hours_per_hour: float = 0.0
    gpu_hours_if_it_goes_on: float = 0.0
    tokens: float | None = None
    finish_shift_hours: float = 0.0
    finish_shift_hours_if_it_goes_on: float = 0.0
    currency: str = "USD"
    unpriced: tuple[str, ...] = ()
    """What could not be counted, and why."""

    @property
    def total_so_far(self) -> float:
        return sum(layer.so_far or 0.0 for layer in self.layers)

    @property
    def total_if_it_goes_on(self) -> float:
        return sum(layer.if_it_goes_on or 0.0 for layer in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another explanation, and why it lost."""

    cause: Subject
    kind: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    at: float
    domain: str  # cooling, power, fabric, storage, gpu, job, serving, schedule, lifecycle
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One signal of one subject around the incident; None where nobody saw it."""

    subject: Subject
    signal: str
    start: float
    step: float
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    kind: str
    confidence: float
    since: float
    lasted_seconds: float
    sentence: str = ""
    """Infrastructure, runtime and business in one line: what an alert says."""
    path: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    victims: tuple[Subject, ...] = ()
    evidence: tuple[str, ...] = ()
    rivals: tuple[Other, ...] = ()
    unknown: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    on_call: Mapping[str, str] = field(default_factory=dict)
    runbook: str = ""
    losses: tuple[Loss, ...] = ()
    bill: Bill = Bill()
    timeline: tuple[Moment, ...] = ()
    charts: tuple[Chart, ...] = ()
