"""Runbooks in the API: steps with the names of one incident, node or part filled in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.catalog import runbooks
from holdfast.fleet.inbox.incident_runbook import runbook_of
from holdfast.fleet.inbox.next_step import values
from holdfast.formats.slurm import hostlist
from holdfast.model.incident import Incident

NOTHING = "(none)"
MOST_IN_A_QUERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RunbookView:
    kind: str
    title: str
    shows: str = ""
    alike: str = ""
    """Another fault with the same symptoms."""
    confirm: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    leave: str = ""
    """What must not be done."""
    over: str = ""
    """How to see that it has ended."""
    teams: tuple[str, ...] = ()
    """Who does it; the first one looks first."""
    commands: tuple[str, ...] = ()
    """The commands of `confirm` and `act`, to copy."""


def of(found: Incident) -> RunbookView:
    account = found.account
    jobs = sorted({one.subject.partition("/")[2] for one in account.losses}) if account else []
    victims = len(account.victims) if account else 0
    since = account.since if account else found.opened
    return filled(runbook_of(found), found.subject, found.evidence, jobs, victims, since)


def filled(kind: str, cause: str, nodes: Sequence[str], jobs: Sequence[str], victims: int, since: float) -> RunbookView:
    """The runbook with the names of the incident; braces of a query stay. A kind without a runbook has no steps."""
    names = {
        "cause": cause,
        "name": cause.partition("/")[2],
        "node": cause.split("/")[1] if cause.startswith("node/") else (nodes[0] if nodes else NOTHING),
        "nodes": hostlist.compress(list(nodes)) or NOTHING,
        "nodes_regex": "|".join(nodes[:MOST_IN_A_QUERY]) or NOTHING,
        "jobs": ", ".join(jobs) or NOTHING,
        "jobs_regex": "|".join(jobs) or NOTHING,
        "victims": str(victims),
        "since": f"{since:.0f}",
    }
    return view(kind, {**values("", (cause,), kind), **names})


def view(name: str, names: Mapping[str, str]) -> RunbookView:
    runbook = runbooks.find(name)
    if runbook is None:
        return RunbookView(kind=name, title=name)
    known = runbooks.fill(runbook, names)
    return RunbookView(
        kind=known.name,
        title=known.title,
        teams=known.teams,
        shows=known.shows,
        alike=known.alike,
        confirm=known.confirm,
        act=known.act,
        leave=known.leave,
        over=known.over,
        commands=known.commands,
    )
