"""Items of open incidents. Many of one kind are one item: 88 silent sensors are one task."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.catalog import runbooks
from holdfast.fleet.inbox.figures import is_lost
from holdfast.fleet.inbox.incident_figures import IncidentFigures, incident_figures
from holdfast.fleet.inbox.incident_runbook import SHARED, runbook_of
from holdfast.fleet.inbox.item import GROUP_AT, MOST_MEMBERS, Item, ItemKind, Severity, Sources, rank
from holdfast.fleet.inbox.next_step import MOST_COMMANDS, Remedy, of_cause
from holdfast.model import command_line
from holdfast.model.incident import Incident

ALWAYS_GROUPED = "sensor."


def of_incidents(sources: Sources) -> list[Item]:
    by_kind: dict[str, list[Incident]] = {}
    for incident in sources.incidents:
        by_kind.setdefault(runbook_of(incident), []).append(incident)
    found = []
    for kind, members in by_kind.items():
        if len(members) > 1 and (len(members) >= GROUP_AT or kind.startswith(ALWAYS_GROUPED)):
            found.append(_group(kind, members, sources))
        else:
            found += [_of_incident(one, sources) for one in members]
    return found


def _of_incident(incident: Incident, sources: Sources) -> Item:
    if runbook_of(incident) == SHARED:
        return _of_shared_cause(incident, sources)
    account = incident.account
    bill = account.bill if account is not None and account.bill.measured else None
    figures = _figures(incident, sources)
    owner = figures.owner
    remedy = _remedy(incident, owner)
    return Item(
        key=f"incident/{incident.id}",
        kind=ItemKind.INCIDENT,
        subject=incident.subject,
        title=f"{incident.subject}: {figures.title}",
        detail=(account.sentence if account else "") or incident.reason,
        since=figures.began,
        lasted_seconds=figures.lasted_seconds,
        severity=Severity.CRITICAL if bill is not None and bill.gpu_hours_per_hour > 0 else Severity.WARNING,
        owner=owner,
        on_call=account.on_call.get(owner, "") if account is not None else "",
        remedy=remedy.text,
        runbook=remedy.runbook,
        commands=remedy.commands[:MOST_COMMANDS],
        members=incident.evidence[:MOST_MEMBERS],
        gpus_lost=bill.gpu_hours_per_hour if bill is not None else None,
        cost_so_far=figures.cost,
        cost_per_hour=bill.cost_per_hour if bill is not None else None,
        currency=figures.currency,
    )


def _of_shared_cause(incident: Incident, sources: Sources) -> Item:
    """The item of nodes that fail together. The GPUs of failing nodes are lost; a degraded node still works."""
    remedy = _remedy(incident)
    members = frozenset(incident.evidence)
    failing = [node.name for node in sources.nodes if node.name in members and is_lost(node, members)]
    known = [gpus for name in failing if (gpus := sources.gpus(name)) is not None]
    lost = float(sum(known)) if known or not failing else None
    hourly = lost * sources.prices.gpu_hour if lost is not None else None
    figures = _figures(incident, sources)
    return Item(
        key=f"incident/{incident.id}",
        kind=ItemKind.INCIDENT,
        subject=incident.subject,
        title=f"{incident.subject}: {figures.title}",
        detail=incident.reason,
        since=figures.began,
        lasted_seconds=figures.lasted_seconds,
        severity=Severity.CRITICAL if lost else Severity.WARNING,
        owner=figures.owner,
        remedy=f"repair {incident.subject}; leave its nodes in service",
        runbook=remedy.runbook,
        commands=remedy.commands[:MOST_COMMANDS],
        members=incident.evidence[:MOST_MEMBERS],
        gpus_lost=lost,
        cost_so_far=figures.cost,
        cost_per_hour=hourly,
        currency=figures.currency,
    )


def _figures(incident: Incident, sources: Sources) -> IncidentFigures:
    return incident_figures(incident, sources.gpus, sources.prices, sources.now, sources.time_factor)


def _remedy(incident: Incident, owner: str = "") -> Remedy:
    name = runbook_of(incident)
    node = incident.subject.split("/")[1] if incident.subject.startswith("node/") else ""
    found = of_cause(name, node, (incident.subject,), owner)
    names = {"cause": incident.subject, "name": incident.subject.partition("/")[2]}
    names |= {"nodes": ", ".join(incident.evidence[:8]) or "its nodes", "jobs": _jobs(incident)}

    def filled(text: str) -> str:
        for word, value in names.items():
            text = text.replace(f"<{word}>", value)
        return text

    commands = tuple(command_line.fill(one, names) for one in found.commands if "<nodes_regex>" not in one)
    return replace(found, text=filled(found.text), commands=commands)


def _jobs(incident: Incident) -> str:
    losses = incident.account.losses if incident.account is not None else ()
    return ", ".join(one.subject.removeprefix("job/") for one in losses[:8]) or "its jobs"


def _group(kind: str, members: Sequence[Incident], sources: Sources) -> Item:
    """One item for all incidents of a kind. Its key has no time, so that the item stays the same with more members."""
    single = [_of_incident(one, sources) for one in members]
    worst = min(single, key=rank)
    runbook = runbooks.find(kind)
    subjects = tuple(sorted(one.subject for one in single))
    return replace(
        worst,
        key=f"group/{kind}",
        subject=kind,
        title=f"{len(members)} times: {runbook.title if runbook else kind}",
        detail=f"{_places(subjects)}. First: {worst.detail}",
        since=min(one.since for one in single),
        lasted_seconds=max(one.lasted_seconds for one in single),
        members=subjects[:MOST_MEMBERS],
        grouped=tuple(sorted(one.id for one in members)),
        commands=("holdfast incident list", *worst.commands)[:MOST_COMMANDS],
        gpus_lost=_sum(one.gpus_lost for one in single),
        cost_so_far=_sum(one.cost_so_far for one in single),
        cost_per_hour=_sum(one.cost_per_hour for one in single),
    )


def _places(subjects: Sequence[str]) -> str:
    wholes = sorted({"/".join(one.split("/")[:2]) for one in subjects})
    shown = ", ".join(wholes[:4]) + (f" and {len(wholes) - 4} more" if len(wholes) > 4 else "")
    return f"{len(subjects)} subjects on {shown}"


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
