"""The price of a live or staged incident: the losses of its jobs in five layers, so far and if it continues."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.economics.costs.feasible import BadNumber, not_negative, share
from holdfast.economics.costs.incident import IncidentLoss, layers
from holdfast.model.account import LABOUR, Bill, Layer, Loss

HORIZON_HOURS = 24.0
NOTHING_SLOWED = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices per GPU-hour and working hour, for live incidents and drills. Unknown amounts are listed, not priced."""

    gpu_hour: float = 2.35
    alternative_gpu_hour: float = 0.0
    queued_chance: float = 0.0
    wage: float = 140.0
    people: float = 2.0
    people_hours: float = 2.0
    currency: str = "USD"

    def __post_init__(self) -> None:
        if not self.gpu_hour > 0:
            raise BadNumber(f"gpu_hour: expected a number above 0, found {self.gpu_hour:g}")
        for name in ("alternative_gpu_hour", "wage", "people", "people_hours"):
            not_negative(name, getattr(self, name))
        share("queued_chance", self.queued_chance)


def bill(
    losses: Sequence[Loss],
    prices: Prices,
    hours: float,
    horizon_hours: float = HORIZON_HOURS,
    worked_hours: float | None = None,
) -> Bill:
    """The bill of an incident of `hours`. `horizon_hours` is 0 for an incident that is over, such as that of a drill.

    Labour counts once per incident, not per job. `worked_hours` is the time since the acknowledgement. Without one,
    `people_hours` are assumed, but at most the duration of the incident.
    """
    priced = [one for one in losses if one.gpus and one.share_now is not None and one.share_so_far is not None]
    priced = _one_slip_each(priced, hours)
    so_far = [_incident(one, prices, hours, one.share_so_far or 0.0) for one in priced]
    going_on = [
        _incident(_later(one, horizon_hours), prices, hours + horizon_hours, _mean(one, hours, horizon_hours))
        for one in priced
    ]
    worked = min(prices.people_hours, hours) if worked_hours is None else worked_hours
    by_job_now, by_job_then = [layers(one) for one in so_far], [layers(one) for one in going_on]
    measured = bool(priced) or not losses
    made = [_layer(place, name, by_job_now, by_job_then, prices, worked) for place, name in enumerate(LAYERS)]
    return Bill(
        layers=tuple(one if measured or one.name == LABOUR else _not_known(one) for one in made),
        measured=measured,
        hours=hours,
        horizon_hours=horizon_hours,
        gpu_hours=sum(one.lost_gpu_hours for one in so_far),
        gpu_hours_per_hour=sum(one.gpu_hours_per_hour or 0.0 for one in priced),
        gpu_hours_if_it_goes_on=sum(one.lost_gpu_hours for one in going_on),
        tokens=_tokens(priced, hours),
        finish_shift_hours=max((one.delay_hours for one in so_far), default=0.0),
        finish_shift_hours_if_it_goes_on=max((one.delay_hours for one in going_on), default=0.0),
        currency=prices.currency,
        unpriced=_unpriced(losses),
    )


LAYERS = ("direct compute", "reserved capacity", "rollback", LABOUR, "schedule slip")


def _one_slip_each(losses: Sequence[Loss], hours: float) -> list[Loss]:
    """Charges the slip of a milestone to its job with the largest loss, if no ledger of loss divides it."""
    late: dict[str, Loss] = {}
    for one in losses:
        known = late.get(one.milestone)
        if one.milestone and (known is None or one.lost_hours(hours) > known.lost_hours(hours)):
            late[one.milestone] = one
    return [
        one
        if not one.milestone or one.slip_hours is not None or late[one.milestone] is one
        else replace(one, critical_chance=0.0)
        for one in losses
    ]


def _later(loss: Loss, horizon: float) -> Loss:
    """The loss in `horizon` hours: a stopped job stays stopped, a milestone slips by the delay beyond its float."""
    more = (loss.share_now or 0.0) * horizon
    if loss.stopped_since is not None:
        loss = replace(loss, down_hours=loss.down_hours + more)
    if loss.slip_hours is not None:
        loss = replace(loss, slip_hours=loss.slip_hours + max(0.0, more - loss.slack_hours))
    return loss


def _mean(loss: Loss, hours: float, horizon: float) -> float:
    """The slow share of the time so far and the horizon together, if the job stays as it is now."""
    whole = hours + horizon
    slow_now = 0.0 if loss.stopped_since is not None else loss.share_now or 0.0
    lost = (loss.share_so_far or 0.0) * hours + slow_now * horizon
    return lost / whole if whole > NOTHING_SLOWED else 0.0


def _incident(loss: Loss, prices: Prices, hours: float, slow_share: float) -> IncidentLoss:
    return IncidentLoss(
        gpus=loss.gpus or 0.0,
        price=prices.gpu_hour,
        restore_hours=loss.down_hours,
        rework_hours=loss.rework_hours,
        slow_share=min(1.0, max(0.0, slow_share)),
        slow_hours=hours,
        alternative_price=prices.alternative_gpu_hour,
        queued_chance=prices.queued_chance,
        day_value=loss.day_value,
        float_days=loss.float_days,
        critical_chance=loss.critical_chance,
        slip_hours=loss.slip_hours,
    )


def _layer(
    place: int,
    name: str,
    now: Sequence[tuple[Layer, ...]],
    then: Sequence[tuple[Layer, ...]],
    prices: Prices,
    worked: float,
) -> Layer:
    if name == LABOUR:
        expected = max(prices.people_hours, worked)
        whole = prices.people * expected * prices.wage
        return Layer(
            name=name,
            so_far=prices.people * worked * prices.wage,
            if_it_goes_on=whole,
            formula="people x hours each x wage",
            inputs=f"{prices.people:g} x {worked:.3g} of {expected:g} h x {prices.wage:g}",
        )
    return Layer(
        name=name,
        so_far=_sum([of_job[place] for of_job in now]),
        if_it_goes_on=_sum([of_job[place] for of_job in then]),
        formula=now[0][place].formula if now else "no measured loss",
        inputs="; ".join(of_job[place].inputs for of_job in now),
    )


def _not_known(layer: Layer) -> Layer:
    return replace(layer, so_far=None, if_it_goes_on=None)


def _sum(of: Sequence[Layer]) -> float | None:
    """The sum of the known amounts; None if none is known."""
    known = [layer.so_far for layer in of if layer.so_far is not None]
    return sum(known) if known or not of else None


def _tokens(losses: Sequence[Loss], hours: float) -> float | None:
    known = [one for one in losses if one.tokens_per_second is not None]
    return sum((one.tokens_per_second or 0.0) * one.lost_hours(hours) * 3600 for one in known) if known else None


def _unpriced(losses: Sequence[Loss]) -> tuple[str, ...]:
    found = [f"{one.subject}: how many GPUs it holds is not known" for one in losses if not one.gpus]
    found += [f"{one.subject}: its slowdown is not measured" for one in losses if one.share_now is None]
    found += [
        f"{one.subject}: the value of a day is not in the business context" for one in losses if one.day_value is None
    ]
    return tuple(found)
