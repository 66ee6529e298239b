"""SLA credits next to the cost of an outage, with the evidence for a claim."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.economics.costs.feasible import BadNumber, share


@dataclass(frozen=True, slots=True)
class Tier:
    """Below this uptime, the supplier credits a share of the month's fee."""

    uptime: float
    credit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    name: str
    tiers: tuple[Tier, ...]
    cap: float = 1.0  # share of the fee
    claim_days: int = 30  # days to claim; no known supplier credits without a claim
    source: str = ""

    def credit_share(self, uptime: float) -> float:
        """Credited share of the fee of the failed nodes: that of the best tier that the uptime misses."""
        share("uptime", uptime)
        return min(self.cap, max((tier.credit for tier in self.tiers if uptime < tier.uptime), default=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    node: str
    begin: float
    end: float
    what: str  # the check, or the operator's command
    seen: str = ""  # the check's reason

    @property
    def description(self) -> str:
        return f"{self.what}: {self.seen}" if self.seen else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditClaim:
    """One node's month: the claim and its evidence."""

    node: str
    down_seconds: float
    uptime: float
    credit: float
    claim_until: float
    evidence: tuple[Outage, ...]


def claims(outages: Sequence[Outage], begin: float, end: float, fee: float, agreement: Agreement) -> list[CreditClaim]:
    """Nodes whose uptime in the period earns a credit, the largest first. Overlapping outages count once."""
    if end <= begin:
        raise BadNumber("the period ends before it begins")
    by_node: dict[str, list[Outage]] = {}
    for outage in outages:
        if outage.end > begin and outage.begin < end:
            by_node.setdefault(outage.node, []).append(outage)
    found = []
    for node, of_node in by_node.items():
        down = _together([(max(begin, o.begin), min(end, o.end)) for o in of_node])
        uptime = 1 - down / (end - begin)
        credit = agreement.credit_share(uptime) * fee
        if credit > 0:
            until = end + agreement.claim_days * 86_400
            evidence = tuple(sorted(of_node, key=lambda o: o.begin))
            found.append(
                CreditClaim(
                    node=node, down_seconds=down, uptime=uptime, credit=credit, claim_until=until, evidence=evidence
                )
            )
    return sorted(found, key=lambda claim: (-claim.credit, claim.node))


def _together(spans: list[tuple[float, float]]) -> float:
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
