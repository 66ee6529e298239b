"""Survival of in-memory copies: nodes in groups, each holding the copies of its group."""

from dataclasses import dataclass
from math import comb, prod

from holdfast.economics.costs.feasible import BadNumber, not_negative, positive


def loss_chance(nodes: int, replicas: int, dead: int) -> float:
    """Probability that this many random nodes that fail at once hold all copies of some data.

    Exact for group placement, by inclusion and exclusion over the groups; GEMINI (SOSP'23) prints the first term.
    """
    if replicas < 1 or nodes < replicas or nodes % replicas:
        raise BadNumber(f"{replicas} replicas: expected a number that divides the {nodes} nodes")
    if not 0 <= dead <= nodes:
        raise BadNumber(f"{dead} dead nodes: expected 0 to {nodes}")
    groups = nodes // replicas
    kept: int = sum(
        (-1 if j % 2 else 1) * comb(groups, j) * comb(nodes - replicas * j, dead - replicas * j)
        for j in range(min(groups, dead // replicas) + 1)
    )
    return 1 - kept / comb(nodes, dead)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDomain:
    """Equipment whose failure takes down several nodes: a rack, a feed, a loop, a switch."""

    name: str
    nodes: int
    failures_per_second: float  # failure rate of one such domain


def loss_rate(
    nodes: int,
    replicas: int,
    failures_per_second: float,
    rebuild_seconds: float,
    domains: tuple[FailureDomain, ...] = (),
    spread: bool = True,
) -> float:
    """Rate per second at which all copies of some data are lost.

    Causes are members of one group that fail before the first is rebuilt, and domains that contain a whole group.
    `spread`: no two members of a group share a domain. Valid if rebuilds are short compared with the time between
    failures of a node; failures of domains then dominate.
    """
    positive("rebuild time", rebuild_seconds)
    not_negative("failure rate", failures_per_second)
    chain = prod((replicas - i) * failures_per_second * rebuild_seconds for i in range(1, replicas))
    alone = nodes * failures_per_second * chain
    if spread:
        return alone
    # Without spreading, a domain contains whole groups, and its failure loses their copies.
    return alone + sum(nodes / d.nodes * d.failures_per_second for d in domains if d.nodes >= replicas)
