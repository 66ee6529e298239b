"""Items of nodes: nodes that wait for an operator, and degraded nodes in service without an automatic repair."""

from collections.abc import Iterator, Sequence

from holdfast.catalog import runbooks
from holdfast.fleet.decisions.guards import planned as in_maintenance
from holdfast.fleet.decisions.lifecycle.memory import OPERATOR
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.lifecycle.table import IN_SERVICE
from holdfast.fleet.inbox.item import GROUP_AT, HOUR, MOST_MEMBERS, Item, ItemKind, Sources, lasted
from holdfast.fleet.inbox.next_step import WaitsFor, explains, of_cause, of_node, of_verdict
from holdfast.model.command_line import argument
from holdfast.model.health import Health
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import VerdictChange

DEGRADED_SECONDS = 600.0  # fleet time; shorter degradations are not items


def of_nodes(sources: Sources) -> list[Item]:
    waiting = [node for node in sources.nodes if waits(node, sources.policy)]
    return [_of_waiting(node, sources) for node in waiting if not _worked_on(node, node.since, sources)] + _of_degraded(
        sources
    )


def waits(node: NodeState, policy: Policy) -> bool:
    """Whether the node needs an operator before it works again."""
    if node.stage is not Stage.QUARANTINED:
        return False
    step = of_node(node, (), policy)
    return step is not None and step.waits_for is WaitsFor.OPERATOR


def may_be_degraded(node: NodeState, health: str) -> bool:
    """Whether the node is in service and degraded for its own reason. A held node belongs to another incident."""
    return node.stage in IN_SERVICE and health == Health.DEGRADED.value and not node.held


def _worked_on(node: NodeState, since: float, sources: Sources) -> bool:
    """Whether planned work on the node is under way. A failure from before the work still waits for an operator."""
    if in_maintenance(node, sources.now, sources.policy) is not None:
        return True
    places = {f"node/{node.name}", *(f"{kind}/{name}" for kind, name in node.place.items())}
    return any(
        work.start <= sources.now < work.end
        and (node.cause == OPERATOR or since >= work.start)
        and not places.isdisjoint(work.subjects)
        for work in sources.planned
    )


def _of_waiting(node: NodeState, sources: Sources) -> Item:
    step = of_node(node, sources.verdicts.get(node.name, ()), sources.policy)
    assert step is not None
    gpus = sources.gpus(node.name)
    hourly = gpus * sources.prices.gpu_hour if gpus is not None else None
    seconds = lasted(node.since, sources)
    return Item(
        key=f"node/{node.name}@{node.since:.0f}",
        kind=ItemKind.NODE,
        subject=f"node/{node.name}",
        title=f"{node.name} waits for an operator",
        detail=f"{step.text} {node.reason}".strip(),
        since=node.since,
        lasted_seconds=seconds,
        owner=step.owner,
        remedy=step.remedy or step.text,
        runbook=step.runbook,
        commands=step.commands,
        gpus_lost=float(gpus) if gpus is not None else None,
        cost_so_far=hourly * seconds / HOUR if hourly is not None else None,
        cost_per_hour=hourly,
        currency=sources.prices.currency,
    )


# Degraded in service: no automatic repair step begins, so a lasting degradation needs an operator.

Degraded = tuple[NodeState, VerdictChange, float]
"""A node, its verdict, and since when."""


def _of_degraded(sources: Sources) -> list[Item]:
    by_check: dict[str, list[Degraded]] = {}
    for found in _degraded(sources):
        by_check.setdefault(found[1].check, []).append(found)
    items = []
    for check, members in by_check.items():
        single = len(members) < GROUP_AT
        items += [_of_one(one, sources) for one in members] if single else [_of_many(check, members, sources)]
    return items


def _degraded(sources: Sources) -> Iterator[Degraded]:
    names = frozenset(sources.degraded)
    for node in sources.nodes:
        if node.name not in names:
            continue
        for change in sources.verdicts.get(node.name) or _by_memory(node):
            since = max((one.at for one in node.degradations if one.cause == change.check), default=change.at)
            blip = lasted(since, sources) < DEGRADED_SECONDS
            if not blip and _needs_a_person(node, change, sources) and not _worked_on(node, since, sources):
                yield node, change, since


def _by_memory(node: NodeState) -> Sequence[VerdictChange]:
    """The item of a node whose verdicts were not read, because one check may degrade thousands of nodes."""
    if not node.degraded_by:
        return ()
    return (VerdictChange(at=node.since, check=node.degraded_by, before="", after=Health.DEGRADED.value),)


def _needs_a_person(node: NodeState, change: VerdictChange, sources: Sources) -> bool:
    if change.after != Health.DEGRADED.value or change.check in sources.policy.of(node.pool).shadow_checks:
        return False
    return not any(explains(one, node.name, change.check) for one in sources.incidents)


def _of_one(found: Degraded, sources: Sources) -> Item:
    node, change, since = found
    remedy = of_verdict(change, node.name)
    retest = f'holdfast node retest {argument(node.name)} --reason "repaired"'
    return Item(
        key=f"node/{node.name}/{change.check}@{since:.0f}",
        kind=ItemKind.NODE,
        subject=f"node/{node.name}",
        title=f"{node.name} is degraded: {_title(change.check)}",
        detail=f"It stays in service and takes work last. {change.reason}".strip(),
        since=since,
        lasted_seconds=lasted(since, sources),
        owner=remedy.owner or "fleet",
        remedy=remedy.text,
        runbook=remedy.runbook,
        commands=(*remedy.commands, retest),
        members=change.subjects[:MOST_MEMBERS],
        currency=sources.prices.currency,
    )


def _of_many(check: str, found: Sequence[Degraded], sources: Sources) -> Item:
    """One item for many nodes. Its key has no time, so that the item stays the same with more nodes."""
    remedy = of_cause(check)
    first = min(since for _, _, since in found)
    names = sorted(node.name for node, _, _ in found)
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    first_reason = next((change.reason for _, change, _ in found if change.reason), "")
    return Item(
        key=f"degraded/{check}",
        kind=ItemKind.NODE,
        subject=check,
        title=f"{len(names)} nodes are degraded: {_title(check)}",
        detail=f"{shown}. They stay in service and take work last. First: {first_reason}" if first_reason else shown,
        since=first,
        lasted_seconds=lasted(first, sources),
        owner=remedy.owner or "fleet",
        remedy=remedy.text,
        runbook=remedy.runbook,
        commands=remedy.commands,
        members=tuple(f"node/{name}" for name in names[:MOST_MEMBERS]),
    )


def _title(check: str) -> str:
    runbook = runbooks.find(check)
    return runbook.title if runbook else check
