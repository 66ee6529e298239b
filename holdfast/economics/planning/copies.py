"""Probability that in-memory copies survive a failure: number of copies, time to replace a lost one, and failures that
take several nodes down at once."""

import re
from dataclasses import dataclass
from math import inf

from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.replicas import FailureDomain, loss_chance, loss_rate
from holdfast.economics.costs.survival import YEAR_SECONDS
from holdfast.economics.planning.answer import Figure
from holdfast.economics.planning.formatting import percent, time
from holdfast.economics.planning.inputs import PlanInputs

_DOMAIN = re.compile(r"(?P<name>[^=]+)=(?P<nodes>[0-9]+)@(?P<rate>[0-9.eE+-]+)")
MOST_COPIES, MOST_DOMAIN_RATE = 16, 365.0
CERTAIN = 1 - 1e-9  # rarer events cannot be estimated
DEAD_AT_ONCE = (2, 3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Groups of this many nodes; each node holds the copies of all others of its group."""

    nodes: int
    replicas: int
    node_failures_per_second: float
    rebuild_seconds: float
    domains: tuple[FailureDomain, ...]
    apart: bool

    @property
    def lost_per_second(self) -> float:
        return loss_rate(
            self.nodes, self.replicas, self.node_failures_per_second, self.rebuild_seconds, self.domains, self.apart
        )

    def survives(self, failures_per_second: float) -> float:
        """Share of the job's failures that leave a copy of everything."""
        left = 1 - self.lost_per_second / failures_per_second
        if left <= 0:
            raise NoProgress(
                "copies in memory outlive nothing: all of them are lost more often than the job fails;"
                " expected --apart, a higher --rate or rarer --domain failures"
            )
        return min(left, CERTAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTexts:
    """The options about copies, as the user gave them."""

    copies: str | None = None
    rebuild: str | None = None
    domains: tuple[str, ...] = ()
    apart: bool = False
    gpus_per_node: str | None = None


NO_COPIES = CopyTexts()


def copies_of(inputs: PlanInputs, gpus: float, per_gpu_year: float, texts: CopyTexts) -> Copies | None:
    """None if the number of copies is not given."""
    if texts.copies is None:
        if texts.rebuild is not None or texts.domains or texts.apart:
            raise BadNumber("--copies is missing: expected how many nodes hold a copy of everything, such as 2")
        return None
    replicas = inputs.number("copies", texts.copies, "nodes with a copy", most=MOST_COPIES)
    if replicas != int(replicas) or replicas < 2:
        raise BadNumber(f"--copies: expected a whole number from 2 to {MOST_COPIES}, found {replicas:g}")
    per_node = inputs.number("gpus-per-node", texts.gpus_per_node, "GPUs", "8", "an HGX node")
    positive("--gpus-per-node", per_node)
    nodes = int(gpus // per_node) // int(replicas) * int(replicas)
    if nodes < replicas:
        raise BadNumber(f"--copies: {replicas:g} copies need as many nodes; the job has {gpus / per_node:g}")
    rebuild = positive("--rebuild", inputs.duration("rebuild", texts.rebuild, "10m", "until a lost copy is made again"))
    domains = tuple(_domain(inputs, text) for text in texts.domains)
    inputs.note("apart", float(texts.apart), "flag", "yes" if texts.apart else "no", "copies in different domains")
    return Copies(
        nodes=nodes,
        replicas=int(replicas),
        node_failures_per_second=per_gpu_year * per_node / YEAR_SECONDS,
        rebuild_seconds=rebuild,
        domains=domains,
        apart=texts.apart,
    )


def _domain(inputs: PlanInputs, text: str) -> FailureDomain:
    found = _DOMAIN.fullmatch(text)
    if found is None:
        raise BadNumber(f"--domain: expected NAME=NODES@FAILURES_PER_YEAR such as rack=8@0.2, found {text!r}")
    name = found["name"].strip()
    nodes = inputs.machines(f"domain {name} nodes", found["nodes"])
    rate = inputs.number(f"domain {name} rate", found["rate"], "failures per year of one", most=MOST_DOMAIN_RATE)
    return FailureDomain(name=name, nodes=int(nodes), failures_per_second=rate / YEAR_SECONDS)


def figures(copies: Copies) -> list[Figure]:
    lost = copies.lost_per_second
    chances = {dead: loss_chance(copies.nodes, copies.replicas, dead) for dead in DEAD_AT_ONCE if dead <= copies.nodes}
    shown = ", ".join(f"{dead} dead {percent(chance)}" for dead, chance in chances.items())
    every = 1 / lost if lost else inf
    by_dead = {str(dead): chance for dead, chance in chances.items()}
    return [
        Figure("seconds_between_losses", every, "all copies of something are lost every", time(every)),
        Figure("loss_chance_by_nodes_dead_at_once", by_dead, "  the chance of it, by nodes dead at once", shown),
    ]
