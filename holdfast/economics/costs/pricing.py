"""Price of a useful GPU-hour, and the cost of failures under three recovery strategies."""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.economics.costs.feasible import NoProgress, not_negative, positive, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One supplier's price and goodput."""

    name: str
    price: float  # per GPU-hour
    goodput: float  # productive share of paid time
    extras: float = 0.0  # storage, support, set-up, labour: per GPU-hour
    credits: float = 0.0  # credits per GPU-hour

    @property
    def paid(self) -> float:
        return self.price + self.extras - self.credits

    @property
    def effective_price(self) -> float:
        """(price + extras - credits) / goodput: per productive GPU-hour."""
        positive(f"{self.name}: price", self.price)
        share(f"{self.name}: goodput", self.goodput)
        if self.goodput == 0:
            raise NoProgress(f"no progress is possible: {self.name} delivers a goodput of 0")
        return self.paid / self.goodput


def break_even_premium(better: float, worse: float) -> float:
    """How much more the supplier with the better goodput may charge: g_A/g_B - 1."""
    return share("goodput", better) / positive("goodput", share("goodput", worse)) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The stages of one failure, in hours; the job's GPUs, and those that wait for the repair."""

    job_gpus: float
    blast_gpus: float  # 8 in an HGX node, 64 in use in an NVL72 rack
    identify_hours: float
    checkpoint_hours: float  # the interval; half of it is lost on average
    start_hours: float
    repair_hours: float
    failover_hours: float = 0.0


def restart_hours(recovery: Recovery) -> Mapping[str, float]:
    """GPU-hours that one failure costs, as in SemiAnalysis's goodput expense (April 2026), not a swapped copy of it.

    cold: the job waits for the repair; hot: a spare takes over and only the blast radius waits; tolerant: the job
    continues elsewhere without a rollback.
    """
    lost = recovery.identify_hours + recovery.checkpoint_hours / 2 + recovery.start_hours
    waits = recovery.repair_hours * recovery.blast_gpus
    return {
        "cold": (lost + recovery.repair_hours) * recovery.job_gpus,
        "hot": lost * recovery.job_gpus + waits,
        "tolerant": (recovery.identify_hours + recovery.failover_hours) * recovery.job_gpus + waits,
    }


def restart_expense(recovery: Recovery, failures: float, price: float) -> dict[str, float]:
    """The cost of this many failures."""
    not_negative("failures", failures)
    return {kind: hours * failures * price for kind, hours in restart_hours(recovery).items()}
