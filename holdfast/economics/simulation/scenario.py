"""Scenario: a cluster, its hazards and repairs, and its jobs. Times in seconds."""

from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.economics.simulation.spread import Spread, fixed

YEAR = 365 * 86_400.0
AT_ONCE = fixed(0.0)
MINUTE = fixed(60.0)
DAY, THREE_DAYS, WEEK = fixed(86_400.0), fixed(3 * 86_400.0), fixed(7 * 86_400.0)
_20_SECONDS, _2_MINUTES, _5_MINUTES, _15_MINUTES, _20_MINUTES = map(fixed, (20.0, 120.0, 300.0, 900.0, 1_200.0))


class SimulatedDomain(StrEnum):
    """The nodes that fail together with a unit."""

    GPU = "gpu"
    NODE = "node"
    RACK = "rack"
    LOOP = "loop"
    LEAF = "leaf"
    FEED = "feed"


class Effect(StrEnum):
    CRASH = "crash"
    SLOWDOWN = "slowdown"  # silent: the whole job runs at the speed of its slowest node
    CORRUPTION = "corruption"  # silent: all work since then is lost when it is detected


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    nodes: int
    gpus_per_node: int = 8
    days: float = 30.0
    nodes_per_rack: int = 8
    racks_per_loop: int = 8
    nodes_per_leaf: int = 16
    racks_per_feed: int = 16

    @property
    def seconds(self) -> float:
        return self.days * 86_400

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    def width(self, domain: SimulatedDomain) -> int:
        """Nodes behind one unit."""
        return {
            SimulatedDomain.GPU: 1,
            SimulatedDomain.NODE: 1,
            SimulatedDomain.RACK: self.nodes_per_rack,
            SimulatedDomain.LEAF: self.nodes_per_leaf,
            SimulatedDomain.LOOP: self.nodes_per_rack * self.racks_per_loop,
            SimulatedDomain.FEED: self.nodes_per_rack * self.racks_per_feed,
        }[domain]

    def units(self, domain: SimulatedDomain) -> int:
        return self.gpus if domain is SimulatedDomain.GPU else -(-self.nodes // self.width(domain))

    def behind(self, domain: SimulatedDomain, unit: int) -> range:
        """The nodes that fail with a unit."""
        if domain is SimulatedDomain.GPU:
            return range(unit // self.gpus_per_node, unit // self.gpus_per_node + 1)
        width = self.width(domain)
        return range(unit * width, min(self.nodes, (unit + 1) * width))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One way in which units fail.

    With shape 1 the rate is constant; otherwise rate x years^shape failures by an age.
    """

    name: str
    rate: float  # per unit and year, of an ordinary unit
    on: SimulatedDomain = SimulatedDomain.GPU
    effect: Effect = Effect.CRASH
    shape: float = 1.0  # below 1: infant mortality; above 1: wear
    age_years: float = 0.0  # age of the units at the beginning; for shapes other than 1
    repeat_offender_share: float = 0.0  # share of the units, chosen at random
    repeat_offender_times: float = 1.0  # rate of repeat offenders relative to the others; a new part ends it
    batch_share: float = 0.0  # share of the units (the first ones) that are of a bad batch
    batch_times: float = 1.0
    swap: float = 0.0  # share of failures that need a new part
    takes_node: bool = True  # False: a restart is enough, for example after a software bug
    part: str = ""  # the part that a swap needs; '': always available
    speed: float = 0.8  # speed of a slowed node
    lasts: Spread | None = None  # duration of slowdowns and of failures of several nodes; None: until repaired
    noticed: Spread = AT_ONCE  # time until a slowdown or corruption is noticed
    rate_events: float = 0.0  # number of counted failures behind the rate; 0: the rate is exact

    @property
    def times_on_average(self) -> float:
        """Mean failure rate relative to an ordinary unit, with repeat offenders and the bad batch."""
        offenders, batch = (
            1 + self.repeat_offender_share * (self.repeat_offender_times - 1),
            1 + self.batch_share * (self.batch_times - 1),
        )
        return offenders * batch


@dataclass(frozen=True, slots=True, kw_only=True)
class SparePart:
    name: str
    stock: int = 0
    lead: Spread = WEEK  # delivery time of a part


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Durations of repair steps and manual work, without waiting for crews and parts."""

    crews: int = 10**6
    time: Spread = THREE_DAYS
    reset: Spread = _5_MINUTES
    reboot: Spread = _15_MINUTES
    test: Spread = _20_MINUTES
    test_misses: float = 0.0  # share of broken nodes that pass the full test
    relapse: Spread = DAY  # time until such a node fails again
    parts: tuple[SparePart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """Computing time between writes, and the time that a write stops the job. `per_storage` writes to memory come to
    one write to storage."""

    interval: float
    write: float
    memory_interval: float = 0.0  # 0: no copies in memory
    memory_write: float = 0.0
    memory_survives: frozenset[SimulatedDomain] = frozenset({SimulatedDomain.GPU, SimulatedDomain.NODE})

    @property
    def cycle(self) -> float:
        return self.memory_interval or self.interval

    @property
    def per_storage(self) -> int:
        """Number of cycles between two writes to storage."""
        return max(1, round(self.interval / self.memory_interval)) if self.memory_interval else 1

    @property
    def short_write(self) -> float:
        return self.memory_write if self.memory_interval else self.write


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartStages:
    """Stages from a dead job to a working one. A failure during them restarts them."""

    detect: Spread = MINUTE
    diagnose: Spread = MINUTE
    reschedule: Spread = MINUTE
    load: Spread = _2_MINUTES
    load_memory: Spread = _20_SECONDS
    warm_up: Spread = MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    name: str
    nodes: int
    checkpoints: Checkpoints
    restart: RestartStages = RestartStages()
    priority: int = 0  # jobs with a higher priority take nodes from jobs with a lower one
    work: float | None = None  # seconds of computing at full speed; None: it never ends
    submitted: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMaintenance:
    """Planned work on a number of nodes at a time, in turn. Jobs leave them at their next checkpoint."""

    every: float
    nodes: int
    lasts: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    title: str
    cluster: Cluster
    jobs: tuple[SimulatedJob, ...]
    hazards: tuple[Hazard, ...] = ()
    repair: Repair = field(default_factory=Repair)
    maintenance: tuple[PlannedMaintenance, ...] = ()
    assumptions: tuple[str, ...] = ()
