"""Items of the inbox: nodes that wait for an operator, open incidents, jobs that died.

Many incidents of one kind are one item: 88 sensors that fell silent are one thing to do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from holdfast.catalog import runbooks
from holdfast.economics.costs.finding import Prices
from holdfast.fleet.decisions.guards import planned as in_maintenance
from holdfast.fleet.decisions.lifecycle.memory import OPERATOR
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.inbox.figures import is_lost
from holdfast.fleet.inbox.incident_figures import IncidentFigures, incident_figures, runbook_of
from holdfast.fleet.inbox.next_step import MOST_COMMANDS, SHARED, Remedy, WaitsFor, of_cause, of_node
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.fleet.jobs.views import TrainingView
from holdfast.model import command_line
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import VerdictChange

GROUP_AT = 4  # so many open incidents of one kind are one item
ALWAYS_GROUPED = "sensor."
JOB_DIED = "job.unknown"
DIED = frozenset({JobState.FAILED, JobState.NODE_FAILED, JobState.OUT_OF_MEMORY})
CAUSE_OF = {JobState.OUT_OF_MEMORY: "host.oom", JobState.NODE_FAILED: "host.other"}
GONE = "gone"
MOST_MEMBERS = 1_000
HOUR = 3600.0


class ItemKind(StrEnum):
    NODE = "node"
    INCIDENT = "incident"
    JOB = "job"


class Severity(StrEnum):
    CRITICAL = "critical"
    """A job loses work now."""
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    key: str
    """Names it for as long as it lasts; the same trouble later is another item."""
    kind: ItemKind
    subject: str
    title: str
    detail: str
    since: float
    severity: Severity = Severity.WARNING
    owner: str = ""
    on_call: str = ""
    remedy: str = ""
    runbook: str = ""
    commands: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    """Of a group: the subjects. Of an incident: the nodes it reaches."""
    grouped: tuple[str, ...] = ()
    """Ids of the incidents that are one item."""
    gpus_lost: float | None = None
    """The work of so many GPUs is lost at this moment; None where it is not known."""
    cost_so_far: float | None = None
    cost_per_hour: float | None = None
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What items are made of."""

    nodes: Iterable[NodeState] = ()
    verdicts: Mapping[str, Sequence[VerdictChange]] = field(default_factory=dict)
    """Of the nodes that wait; of others not needed."""
    incidents: Sequence[Incident] = ()
    trainings: Sequence[TrainingView] = ()
    jobs: Sequence[Job] = ()
    """Those that ended lately, by the scheduler's word."""
    planned: Sequence[PlannedWorkView] = ()
    """Announced work."""
    policy: Policy = field(default_factory=Policy)
    prices: Prices = field(default_factory=Prices)
    gpus: Callable[[str], int | None] = lambda node: None
    """Of a node."""
    now: float = 0.0
    time_factor: float = 1.0
    """How much faster than the clock the fleet lives: 1 but in a demo."""


def waits(node: NodeState, policy: Policy) -> bool:
    """Whether a person must do something before this node works again."""
    if node.stage is not Stage.QUARANTINED:
        return False
    step = of_node(node, (), policy)
    return step is not None and step.waits_for is WaitsFor.OPERATOR


def items(sources: Sources) -> list[Item]:
    """Worst first: what loses work now, then what costs most an hour, then what waits longest."""
    waiting = (node for node in sources.nodes if waits(node, sources.policy))
    found = [_of_node(node, sources) for node in waiting if not _worked_on(node, sources)]
    found += _of_incidents(sources)
    found += _of_jobs(sources)
    return sorted(found, key=_rank)


def _worked_on(node: NodeState, sources: Sources) -> bool:
    """It is out for planned work that is not over: someone is at it. What broke before the work began still waits."""
    if in_maintenance(node, sources.now, sources.policy) is not None:
        return True
    places = {f"node/{node.name}", *(f"{kind}/{name}" for kind, name in node.place.items())}
    return any(
        work.start <= sources.now < work.end
        and (node.cause == OPERATOR or node.since >= work.start)
        and not places.isdisjoint(work.subjects)
        for work in sources.planned
    )


def _rank(item: Item) -> tuple[bool, float, float, str]:
    return item.severity is not Severity.CRITICAL, -(item.cost_per_hour or 0.0), item.since, item.key


def _of_node(node: NodeState, sources: Sources) -> Item:
    step = of_node(node, sources.verdicts.get(node.name, ()), sources.policy)
    assert step is not None
    gpus = sources.gpus(node.name)
    hourly = gpus * sources.prices.gpu_hour if gpus is not None else None
    hours = sources.time_factor * max(0.0, sources.now - node.since) / HOUR
    return Item(
        key=f"node/{node.name}@{node.since:.0f}",
        kind=ItemKind.NODE,
        subject=f"node/{node.name}",
        title=f"{node.name} waits for an operator",
        detail=f"{step.text} {node.reason}".strip(),
        since=node.since,
        owner=step.owner,
        remedy=step.remedy or step.text,
        runbook=step.runbook,
        commands=step.commands,
        gpus_lost=float(gpus) if gpus is not None else None,
        cost_so_far=hourly * hours if hourly is not None else None,
        cost_per_hour=hourly,
        currency=sources.prices.currency,
    )


# Incidents


def _of_incidents(sources: Sources) -> list[Item]:
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
    remedy = _remedy(incident)
    bill = account.bill if account is not None else None
    figures = _figures(incident, sources)
    owner = figures.owner
    return Item(
        key=f"incident/{incident.id}",
        kind=ItemKind.INCIDENT,
        subject=incident.subject,
        title=f"{incident.subject}: {figures.title}",
        detail=(account.sentence if account else "") or incident.reason,
        since=figures.began,
        severity=Severity.CRITICAL if bill is not None and bill.gpu_hours_per_hour > 0 else Severity.WARNING,
        owner=owner,
        on_call=account.on_call.get(owner, "") if account is not None else "",
        remedy=remedy.text.removeprefix(f"{owner}: "),
        runbook=remedy.runbook,
        commands=remedy.commands[:MOST_COMMANDS],
        members=incident.evidence[:MOST_MEMBERS],
        gpus_lost=bill.gpu_hours_per_hour if bill is not None else None,
        cost_so_far=figures.cost,
        cost_per_hour=bill.cost_per_hour if bill is not None else None,
        currency=figures.currency,
    )


def _of_shared_cause(incident: Incident, sources: Sources) -> Item:
    """Nodes that fail together. The GPUs of those that fail now are lost; a node that is only degraded still works."""
    remedy = _remedy(incident)
    members = frozenset(incident.evidence)
    failing = [node.name for node in sources.nodes if node.name in members and is_lost(node)]
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


def _remedy(incident: Incident) -> Remedy:
    name = runbook_of(incident)
    node = incident.subject.split("/")[1] if incident.subject.startswith("node/") else ""
    found = of_cause(name, node, (incident.subject,))
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
    """One item for all of a kind. Its key has no time: more members do not make it another item."""
    single = [_of_incident(one, sources) for one in members]
    worst = min(single, key=_rank)
    runbook = runbooks.find(kind)
    subjects = tuple(sorted(one.subject for one in single))
    return replace(
        worst,
        key=f"group/{kind}",
        subject=kind,
        title=f"{len(members)} times: {runbook.title if runbook else kind}",
        detail=f"{_places(subjects)}. First: {worst.detail}",
        since=min(one.since for one in single),
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


# Jobs


def _of_jobs(sources: Sources) -> list[Item]:
    telling = [_of_training(one, sources) for one in sources.trainings if one.state == GONE and one.reports_progress]
    named = {one.job for one in sources.trainings}
    running = {one.job for one in sources.trainings if one.state != GONE}
    others = [one for one in sources.jobs if one.state in DIED and not one.step and one.id not in named]
    return telling + [_of_job(one) for one in others if one.id.rpartition(".")[0] not in running]  # runs again


def _of_training(job: TrainingView, sources: Sources) -> Item:
    remedy = of_cause(JOB_DIED, job.nodes[0] if job.nodes else "")
    lost = job.exposure_gpu_hours
    return Item(
        key=f"job/{job.owner}:{job.job}@{job.last_report_at:.0f}",
        kind=ItemKind.JOB,
        subject=f"job/{job.job}",
        title=f"{job.job} died at step {job.step:,}",
        detail=job.reason or f"its {job.world} ranks stopped reporting",
        since=job.last_report_at,
        severity=Severity.CRITICAL,
        owner=job.owner or "job owner",
        remedy=f"find out why before it runs again: holdfast diagnose --job {command_line.argument(job.job)}",
        runbook=remedy.runbook,
        commands=(
            f"holdfast diagnose --job {command_line.argument(job.job)}",
            f"holdfast job show {command_line.operand(job.job)}",
        ),
        members=job.nodes[:MOST_MEMBERS],
        cost_so_far=lost * sources.prices.gpu_hour if lost is not None else None,
        currency=sources.prices.currency,
    )


def _of_job(job: Job) -> Item:
    cause = CAUSE_OF.get(job.state, JOB_DIED)
    remedy = of_cause(cause, job.nodes[0] if job.nodes else "")
    name = job.shown_as or job.id
    ended = job.end or job.start or 0.0
    return Item(
        key=f"job/{job.source}:{job.id}@{ended:.0f}",
        kind=ItemKind.JOB,
        subject=f"job/{name}",
        title=f"job {name} ended: {job.state.value.replace('_', ' ')}",
        detail=f"exit code {job.exit_code}" if job.exit_code else f"{job.source} reports {job.state.value}",
        since=ended,
        owner=job.user or remedy.owner,
        remedy=remedy.text,
        runbook=remedy.runbook,
        commands=(f"holdfast diagnose --job {command_line.argument(job.id)}", *remedy.commands)[:MOST_COMMANDS],
        members=job.nodes[:MOST_MEMBERS],
    )
