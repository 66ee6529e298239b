"""Figures of the home page: productive and lost GPUs, losses of the day, goodput of the last 24 h."""

from collections import deque
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low

from holdfast.fleet.inbox.incident_runbook import SHARED, runbook_of
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState, Stage

DAY_SECONDS = 86_400.0
MOST_SAMPLES = 2_880  # one day, one sample each 30 s
HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSample:
    """One sample, in wall-clock time."""

    at: float
    nodes: int
    in_service: int
    gpus: float | None
    """None where no agent has reported its GPUs yet."""
    productive: float | None
    """GPUs of allocated nodes that do not fail, without the work that incidents take from their jobs."""
    lost: float | None
    """GPUs of nodes that are out of service or fail, and the work that incidents take from the others."""
    cost_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    now: FigureSample | None
    lost_gpu_hours: float
    lost_cost: float
    goodput: float | None
    """The share of all GPU time that was productive."""
    covers_seconds: float
    """How much of the last day the figures rest on: since the controller started, at most a day."""


def sample(
    at: float,
    nodes: Sequence[NodeState],
    incidents: Sequence[Incident],
    gpus_of: Callable[[str], int | None],
    gpu_hour: float,
) -> FigureSample:
    known = [count for node in nodes if (count := gpus_of(node.name)) is not None]
    usual = median_low(known) if known else None
    in_service = sum(not node.out for node in nodes)
    if usual is None:
        return FigureSample(
            at=at, nodes=len(nodes), in_service=in_service, gpus=None, productive=None, lost=None, cost_per_hour=None
        )

    def gpus(chosen: Iterable[NodeState]) -> float:
        return float(sum(gpus_of(node.name) or usual for node in chosen))

    taken = sum(one.account.bill.gpu_hours_per_hour for one in incidents if one.account is not None)
    together = failing_together(incidents)
    busy = gpus(node for node in nodes if node.stage is Stage.ALLOCATED and not is_lost(node))
    out = gpus(node for node in nodes if is_lost(node, together))
    lost = out + min(taken, busy)
    return FigureSample(
        at=at,
        nodes=len(nodes),
        in_service=in_service,
        gpus=gpus(nodes),
        productive=max(0.0, busy - taken),
        lost=lost,
        cost_per_hour=lost * gpu_hour,
    )


def is_lost(node: NodeState, together: Container[str] = ()) -> bool:
    """Whether a node's GPUs do no work: the node is out of service, or it fails and an incident holds it in service.
    `together`: nodes that fail together; one under test cannot pass before the shared part is repaired."""
    under_test = node.stage in (Stage.CLEANING, Stage.TESTING) and node.name in together
    return node.out or under_test or (node.held != "" and node.tested_at is None)


def failing_together(incidents: Iterable[Incident]) -> frozenset[str]:
    """Nodes of the open incidents on shared parents."""
    return frozenset(name for one in incidents if runbook_of(one) == SHARED for name in one.evidence)


@dataclass(slots=True)
class FigureWindow:
    """The samples of the last day, in memory and bounded. `time_factor`: speed of the fleet's clock."""

    time_factor: float = 1.0
    samples: deque[FigureSample] = field(default_factory=lambda: deque(maxlen=MOST_SAMPLES))

    def take(self, one: FigureSample) -> None:
        self.samples.append(one)
        while self.samples and (one.at - self.samples[0].at) * self.time_factor > DAY_SECONDS:
            self.samples.popleft()

    def figures(self, now: FigureSample | None = None) -> Figures:
        """The figures. Each sample holds until the next one; `now` is the last one if it is the newest."""
        lost = cost = productive = paid = 0.0
        held = list(self.samples)
        if now is not None and (not held or now.at > held[-1].at):
            held.append(now)
        for one, following in pairwise(held):
            hours = (following.at - one.at) * self.time_factor / HOUR
            lost += (one.lost or 0.0) * hours
            cost += (one.cost_per_hour or 0.0) * hours
            productive += (one.productive or 0.0) * hours
            paid += (one.gpus or 0.0) * hours
        covers = (held[-1].at - held[0].at) * self.time_factor if held else 0.0
        return Figures(
            now=held[-1] if held else None,
            lost_gpu_hours=lost,
            lost_cost=cost,
            goodput=productive / paid if paid > 0 else None,
            covers_seconds=covers,
        )

    def thinned(self, most: int) -> list[FigureSample]:
        """Evenly chosen samples for a chart, with the last one."""
        held = list(self.samples)
        every = max(1, -(-len(held) // most))
        return held[::-1][::every][::-1]
