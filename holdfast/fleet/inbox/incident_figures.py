"""Begin, duration, owner and cost of an incident: the same in page, list, inbox and CLI."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.catalog import runbooks
from holdfast.economics.costs.finding import Prices
from holdfast.fleet.inbox.incident_runbook import SHARED, runbook_of
from holdfast.fleet.inbox.next_step import of_cause, owner_of_place
from holdfast.model.incident import Incident

HOUR = 3600.0
GpusOf = Callable[[str], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFigures:
    title: str
    """What happened, in a few words: 'coolant flow is low'."""
    began: float
    lasted_seconds: float
    """In the fleet's time. Of a cause that a seam found, as long as it was found: its bill is for this time."""
    owner: str
    gpu_hours: float | None
    """None: not known."""
    cost: float | None
    labour: float
    """The part of the cost that people's time is: all of it, where no GPU-hour is lost."""
    currency: str


def incident_figures(
    incident: Incident, gpus: GpusOf, prices: Prices, now: float, time_factor: float
) -> IncidentFigures:
    account = incident.account
    if account is not None:
        return IncidentFigures(
            title=title_of(incident),
            began=account.since,
            lasted_seconds=account.lasted_seconds,
            owner=account.owners[0] if account.owners else of_cause(runbook_of(incident)).owner,
            gpu_hours=account.bill.gpu_hours if account.bill.measured else None,
            cost=account.bill.total_so_far if account.bill.measured else None,
            labour=account.bill.labour,
            currency=account.bill.currency,
        )
    lasted = time_factor * max(0.0, (now if incident.closed is None else incident.closed) - incident.opened)
    shared = runbook_of(incident) == SHARED
    hours = _gpus_of_members(incident, gpus) if shared else None
    lost = hours * lasted / HOUR if hours is not None else None
    return IncidentFigures(
        title=title_of(incident),
        began=incident.opened,
        lasted_seconds=lasted,
        owner=owner_of_place(incident.subject) if shared else of_cause(runbook_of(incident)).owner,
        gpu_hours=lost,
        cost=lost * prices.gpu_hour if lost is not None else None,
        labour=0.0,
        currency=prices.currency,
    )


def title_of(incident: Incident) -> str:
    name = runbook_of(incident)
    if name == SHARED:
        return f"{len(incident.evidence)} nodes behind it fail together"
    runbook = runbooks.find(name)
    return runbook.title if runbook else incident.cause


def _gpus_of_members(incident: Incident, gpus: GpusOf) -> float | None:
    """All GPUs of the nodes that fail together: no job can use them before the shared part is repaired."""
    known = [count for name in incident.evidence if (count := gpus(name)) is not None]
    return float(sum(known)) if known else None
