"""The account of an incident that a seam found: its evidence, its cost, its owners and its timeline."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.model.finding import Rival
from holdfast.model.subject import Subject

LABOUR = "labour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one job, or one pair of inference pools, loses by an incident."""

    subject: Subject
    gpus: float | None  # None: not known
    share_so_far: float | None  # mean lost share of its throughput since the beginning; None: not measured
    share_now: float | None
    tokens_per_second: float | None = None
    milestone: str = ""
    day_value: float | None = None
    float_days: float = 0.0
    critical_chance: float = 1.0
    down_hours: float = 0.0  # without any progress; not part of the shares
    rework_hours: float = 0.0  # of repeated steps; not part of the shares
    usual: float | None = None  # its step time or stall before the incident, as the reference
    slip_hours: float | None = None  # delay of its milestone by this incident; None: not in the ledger
    slack_hours: float = 0.0  # loss that it can still take before its milestone is late
    counted_until: float | None = None  # later losses are not included yet; None: all losses up to now are
    stopped_since: float | None = None  # its last step, while the job is stopped
    scheduled_as: str = ""  # the scheduler's name of the job, if it differs
    last_step: int = -1  # number of that step; -1: unknown

    def lost_hours(self, hours: float) -> float:
        """Hours that this job lost to an incident of this duration."""
        return (self.share_so_far or 0.0) * hours + self.down_hours + self.rework_hours

    @property
    def gpu_hours_per_hour(self) -> float | None:
        return None if self.gpus is None or self.share_now is None else self.gpus * self.share_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One of the five layers of a cost. `if_it_goes_on` includes `so_far`."""

    name: str
    so_far: float | None  # None: a value needed for the price is not configured
    if_it_goes_on: float | None  # None if the incident is over
    formula: str
    inputs: str

    @property
    def cost(self) -> float | None:
        """The final cost of a closed incident."""
        return self.so_far


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The five layers in money, their totals, and the same loss in progress. The totals follow from the layers."""

    layers: tuple[Layer, ...] = ()
    hours: float = 0.0
    horizon_hours: float = 24.0
    measured: bool = True
    """False: it reaches jobs, and what they lose could not be measured. Its zeros are not known."""
    gpu_hours: float = 0.0
    gpu_hours_per_hour: float = 0.0
    gpu_hours_if_it_goes_on: float = 0.0
    tokens: float | None = None
    finish_shift_hours: float = 0.0
    finish_shift_hours_if_it_goes_on: float = 0.0
    currency: str = "USD"
    unpriced: tuple[str, ...] = ()
    """What could not be priced, and why."""
    total_so_far: float = 0.0
    total_if_it_goes_on: float = 0.0
    cost_per_hour: float = 0.0
    """What each further hour adds. Labour is not in it: people are called out once."""

    def __post_init__(self) -> None:
        now, then = sum_layers(self.layers), sum((one.if_it_goes_on or 0.0) for one in self.layers)
        labour = sum((one.if_it_goes_on or 0.0) - (one.so_far or 0.0) for one in self.layers if one.name == LABOUR)
        hourly = (then - now - labour) / self.horizon_hours if self.layers and self.horizon_hours > 0 else 0.0
        for name, value in (("total_so_far", now), ("total_if_it_goes_on", then), ("cost_per_hour", hourly)):
            object.__setattr__(self, name, value)

    @property
    def labour(self) -> float:
        """Labour's part of the total so far."""
        return sum(one.so_far or 0.0 for one in self.layers if one.name == LABOUR) if self.measured else 0.0


def sum_layers(layers: Iterable[Layer]) -> float:
    """The sum of the layers. Schedule slip counts only if the value of a day is configured."""
    return sum(layer.so_far for layer in layers if layer.so_far is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    at: float
    domain: str  # cooling, power, fabric, storage, gpu, job, serving, schedule, lifecycle
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One signal of one subject around the incident; None where it was not measured."""

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
    rivals: tuple[Rival, ...] = ()
    unknown: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    on_call: Mapping[str, str] = field(default_factory=dict)
    runbook: str = ""
    losses: tuple[Loss, ...] = ()
    bill: Bill = Bill()
    timeline: tuple[Moment, ...] = ()
    charts: tuple[Chart, ...] = ()
