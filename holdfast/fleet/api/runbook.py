"""A runbook for one very incident: the steps of its kind, with its names filled in."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.catalog import seam_kinds
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
    """What looks the same and is another thing."""
    confirm: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    leave: str = ""
    """What must not be done."""
    over: str = ""
    """How to see that it has ended."""


def of(found: Incident) -> RunbookView:
    account = found.account
    jobs = sorted({one.subject.partition("/")[2] for one in account.losses}) if account else []
    victims = len(account.victims) if account else 0
    return filled(found.cause, found.subject, found.evidence, jobs, victims, account.since if account else found.opened)


def filled(kind: str, cause: str, nodes: Sequence[str], jobs: Sequence[str], victims: int, since: float) -> RunbookView:
    """Only our own names are filled; the braces of a query stay. A kind without a runbook has no steps."""
    values = {
        "cause": cause,
        "name": cause.partition("/")[2],
        "nodes": hostlist.compress(list(nodes)) or NOTHING,
        "nodes_regex": "|".join(nodes[:MOST_IN_A_QUERY]) or NOTHING,
        "jobs": ", ".join(jobs) or NOTHING,
        "jobs_regex": "|".join(jobs) or NOTHING,
        "victims": str(victims),
        "since": f"{since:.0f}",
    }

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"<{name}>", value)
        return text

    known = seam_kinds.kind(kind)
    return RunbookView(
        kind=kind,
        title=known.title,
        shows=fill(known.shows),
        alike=fill(known.alike),
        confirm=tuple(map(fill, known.confirm)),
        act=tuple(map(fill, known.act)),
        leave=fill(known.leave),
        over=fill(known.over),
    )
