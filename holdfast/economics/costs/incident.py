"""Cost of one incident in five layers that never count the same dollar twice."""

from dataclasses import dataclass

from holdfast.economics.costs.feasible import not_negative, positive, share
from holdfast.model.account import LABOUR, Layer, sum_layers


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLoss:
    """Hours, GPUs and money of an incident. Unknown values keep their default, and the layer says so."""

    gpus: float
    price: float  # per GPU-hour
    detect_hours: float = 0.0
    diagnose_hours: float = 0.0
    restore_hours: float = 0.0
    rework_hours: float = 0.0  # half an interval after a crash; since the last verified checkpoint after corruption
    slow_share: float = 0.0
    slow_hours: float = 0.0
    blast_gpus: float = 0.0  # GPUs that wait for the repair while the job continues
    repair_hours: float = 0.0
    alternative_price: float = 0.0  # price of another use, per GPU-hour
    queued_chance: float = 0.0  # probability that another job waited for the capacity
    people: float = 0.0
    people_hours: float = 0.0  # hours of each person
    wage: float = 140.0
    day_value: float | None = None  # value of a day of the schedule; there are no public figures
    float_days: float = 0.0
    critical_chance: float = 1.0
    slip_hours: float | None = None  # from the ledger of loss; None: the delay beyond the float

    @property
    def down_hours(self) -> float:
        return self.detect_hours + self.diagnose_hours + self.restore_hours

    @property
    def delay_hours(self) -> float:
        return self.down_hours + self.rework_hours + self.slow_share * self.slow_hours

    @property
    def lost_gpu_hours(self) -> float:
        """GPU-hours of lost progress. Idle GPUs in the blast radius are paid for, but made no progress."""
        return self.gpus * self.delay_hours


def layers(incident: IncidentLoss) -> tuple[Layer, ...]:
    """The five layers; always all of them."""
    _checked(incident)
    i = incident
    idle = i.blast_gpus * i.repair_hours
    alternative = max(0.0, i.alternative_price - i.price)
    slip_days = max(0.0, i.delay_hours / 24 - i.float_days) if i.slip_hours is None else i.slip_hours / 24
    slow_hours = i.slow_share * i.slow_hours
    return (
        _layer(
            "direct compute",
            (i.gpus * (i.down_hours + slow_hours) + idle) * i.price,
            "(GPUs x (hours down + share slowed x hours slow) + blast radius x hours of repair) x price",
            f"({i.gpus:g} x ({i.down_hours:.4g} h + {i.slow_share:.4g} x {i.slow_hours:.4g} h)"
            f" + {i.blast_gpus:g} x {i.repair_hours:.4g} h) x {i.price:g}",
        ),
        _layer(
            "reserved capacity",
            i.gpus * i.down_hours * alternative * i.queued_chance,
            "GPUs x hours down x max(0, alternative price - price) x chance that a job waited",
            f"{i.gpus:g} x {i.down_hours:.4g} h x {alternative:g} x {i.queued_chance:.4g}",
        ),
        _layer(
            "rollback",
            i.gpus * i.price * i.rework_hours,
            "GPUs x price x hours of work done again",
            f"{i.gpus:g} x {i.price:g} x {i.rework_hours:.4g} h",
        ),
        _layer(
            LABOUR,
            i.people * i.people_hours * i.wage,
            "people x hours each x wage",
            f"{i.people:g} x {i.people_hours:.4g} h x {i.wage:g}",
        ),
        _layer(
            "schedule slip",
            None if i.day_value is None else i.day_value * slip_days * i.critical_chance,
            "value of a day x max(0, delay - float) x chance that it is on the critical path",
            f"{'your value of a day' if i.day_value is None else f'{i.day_value:g}'}"
            f" x {slip_days:.4g} d x {i.critical_chance:.4g}",
        ),
    )


def _layer(name: str, cost: float | None, formula: str, inputs: str) -> Layer:
    return Layer(name=name, so_far=cost, if_it_goes_on=None, formula=formula, inputs=inputs)


def total(of: tuple[Layer, ...]) -> float:
    return sum_layers(of)


def _checked(incident: IncidentLoss) -> None:
    positive("GPUs", incident.gpus)
    positive("price", incident.price)
    for name in ("detect", "diagnose", "restore", "rework", "slow", "repair", "people"):
        not_negative(f"{name} hours", getattr(incident, f"{name}_hours"))
    for name in ("slow_share", "queued_chance", "critical_chance"):
        share(name.replace("_", " "), getattr(incident, name))
    for name in ("people", "wage", "float_days", "blast_gpus", "alternative_price"):
        not_negative(name.replace("_", " "), getattr(incident, name))
    for name in ("day_value", "slip_hours"):
        if (value := getattr(incident, name)) is not None:
            not_negative(name.replace("_", " "), value)
