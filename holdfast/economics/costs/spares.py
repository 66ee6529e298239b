"""The number of spare nodes. Nodes out of service are Poisson distributed with mean nodes x rate x repair time, for any
distribution of repair times (M/G/infinity). With few repair crews, repairs queue and Erlang's formulas apply."""

from dataclasses import dataclass
from math import ceil, exp, lgamma, log

from holdfast.economics.costs.feasible import NoProgress, not_negative, positive, share
from holdfast.economics.costs.gamma import poisson_cdf, poisson_quantile


def mean_out(nodes: float, failures_per_node_day: float, repair_days: float, swap_share: float = 1.0) -> float:
    """Mean number of nodes in repair. Many nodes return at once after a reset; only the swap share needs a repair."""
    positive("nodes", nodes)
    not_negative("failures per node and day", failures_per_node_day)
    return nodes * failures_per_node_day * positive("repair time", repair_days) * share("swap share", swap_share)


def spares_for(confidence: float, mean: float) -> int:
    """The smallest number of spares that covers the nodes out of service with this probability."""
    return poisson_quantile(confidence, mean)


def covered(spares: int, mean: float) -> float:
    return poisson_cdf(spares, mean)


def erlang_b(servers: int, load: float) -> float:
    """Share of arrivals that find all servers busy and leave (loss system)."""
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked


def erlang_c(servers: int, load: float) -> float:
    """Share of arrivals that must wait for a server (queue, exponential repairs)."""
    if load >= servers:
        return 1.0
    blocked = erlang_b(servers, load)
    return servers * blocked / (servers - load * (1 - blocked))


@dataclass(frozen=True, slots=True)
class Crews:
    """Repair by a number of crews, each on one node at a time: nodes out of service, waiting and in work."""

    crews: int
    load: float  # mean number of nodes under repair without queueing

    def __post_init__(self) -> None:
        if self.load >= self.crews:
            raise NoProgress(
                f"no number of spares is enough: nodes fail as fast as {self.load:.3g} crews can repair them, and there"
                f" are {self.crews}"
            )

    @property
    def waits(self) -> float:
        return erlang_c(self.crews, self.load)

    @property
    def mean_out(self) -> float:
        busy = self.load / self.crews
        return self.load + self.waits * busy / (1 - busy)

    def spares_for(self, confidence: float) -> int:
        """Sums the probabilities of 0, 1, 2 ... nodes out (M/M/c) up to the wanted one."""
        if self.load <= 0:
            return 0
        busy = self.load / self.crews
        # Logarithms relative to the most likely count, so that nothing overflows.
        likeliest = _log_term(int(self.load), self.load)
        terms = [exp(_log_term(number, self.load) - likeliest) for number in range(self.crews + 1)]
        whole = sum(terms[:-1]) + terms[-1] / (1 - busy)
        wanted = confidence * whole * (1 - 1e-12)
        reached = 0.0
        for number, term in enumerate(terms):
            reached += term
            if reached >= wanted:
                return number
        # All crews work; each further waiting node is `busy` times as likely as the one before.
        left = terms[-1] * busy / (1 - busy)
        return self.crews + ceil(log((whole - wanted) / left) / log(busy))

    def covered(self, spares: int) -> float:
        """Probability that at most this many are out."""
        if self.load <= 0:
            return 1.0
        if spares >= self.crews:
            return 1 - self.waits * (self.load / self.crews) ** (spares - self.crews + 1)
        likeliest = _log_term(int(self.load), self.load)
        terms = [exp(_log_term(number, self.load) - likeliest) for number in range(self.crews)]
        return (1 - self.waits) * sum(terms[: spares + 1]) / sum(terms)


def _log_term(number: int, load: float) -> float:
    return number * log(load) - lgamma(number + 1)
