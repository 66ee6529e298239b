"""Prometheus metrics of open incidents: age, cost so far, projected cost."""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import Metric

from holdfast.fleet.api.metrics.families import gauge
from holdfast.model.account import Bill, Layer
from holdfast.model.incident import Incident

INCIDENT = ("incident", "subject", "cause")
SECONDS_PER_HOUR = 3600.0
_PROGRESS: tuple[tuple[str, str, Callable[[Bill], float]], ...] = (
    (
        "gpu_hours_per_hour",
        "Measured cost rate of an open incident for the affected runs.",
        lambda bill: bill.gpu_hours_per_hour,
    ),
    ("gpu_hours", "Cost of an open incident so far.", lambda bill: bill.gpu_hours),
    (
        "finish_shift_seconds",
        "By how much runs will end later.",
        lambda bill: bill.finish_shift_hours * SECONDS_PER_HOUR,
    ),
)
_MONEY: tuple[tuple[str, str, Callable[[Layer], float | None]], ...] = (
    ("cost", "Money lost so far, by layer; a layer that cannot be priced is left out.", lambda layer: layer.so_far),
    ("cost_if_it_goes_on", "Money lost by the end of its horizon, by layer.", lambda layer: layer.if_it_goes_on),
)


def incidents(found: Sequence[Incident]) -> Iterable[Metric]:
    yield gauge(
        "holdfast_incident_opened_seconds",
        "When an open incident was opened, in seconds since the epoch.",
        INCIDENT,
        {_named(one): one.opened for one in found},
    )
    billed = [(one, one.account.bill) for one in found if one.account is not None]
    for name, words, value in _PROGRESS:
        known: dict[tuple[str, ...], float] = {_named(one): value(bill) for one, bill in billed if bill.measured}
        yield gauge(f"holdfast_incident_{name}", words, INCIDENT, known)
    for name, words, money in _MONEY:
        reported: dict[tuple[str, ...], float | None] = {
            (*_named(one), layer.name, bill.currency): money(layer) for one, bill in billed for layer in bill.layers
        }
        priced = {labels: value for labels, value in reported.items() if value is not None}
        yield gauge(f"holdfast_incident_{name}", words, (*INCIDENT, "layer", "currency"), priced)


def _named(one: Incident) -> tuple[str, str, str]:
    return one.id, one.subject, one.cause
