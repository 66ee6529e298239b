"""Runbooks by name, for checks, causes of job failures, incident kinds and alerts."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from holdfast.catalog import seam_kinds
from holdfast.model import command_line

CAUSES = {"unknown": "job.unknown", "breaker": "fleet.breaker_open"}
"""Causes whose runbook has another name."""
ACTION = "action."
_COMMAND = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runbook:
    name: str
    title: str
    """What is wrong, worded to follow the subject: 'a GPU is gone'."""
    teams: tuple[str, ...]
    shows: str = ""
    alike: str = ""
    """Another fault with the same symptoms."""
    confirm: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    leave: str = ""
    """What must not be done."""
    over: str = ""
    absorbs: tuple[str, ...] = ()
    """Checks whose verdicts on the victims of an incident are symptoms of it."""

    @property
    def owner(self) -> str:
        return self.teams[0] if self.teams else ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands between backticks, in reading order."""
        found = [one for text in (*self.confirm, *self.act) for one in _COMMAND.findall(text)]
        return tuple(dict.fromkeys(one for one in found if " " in one))


@cache
def all_runbooks() -> dict[str, Runbook]:
    """The runbooks of incidents first, then of checks, causes and alerts."""
    facts = tomllib.loads(resources.files(__package__).joinpath("runbooks.toml").read_text(encoding="utf-8"))
    over = facts.pop("defaults")["over"]
    found = {one.name: _of_kind(one) for one in seam_kinds.kinds().values()}
    for group, members in facts.items():
        for name, row in members.items():
            found[f"{group}.{name}"] = Runbook(
                name=f"{group}.{name}",
                title=row["title"],
                teams=(row["owner"],),
                shows=row["shows"],
                confirm=tuple(row["confirm"]),
                act=tuple(row["act"]),
                leave=row.get("leave", ""),
                over=row.get("over", over),
            )
    return found


SHOW_INCIDENT = "`holdfast incident show <cause>`: the evidence, the path to the symptoms and what was rejected"


def _of_kind(kind: seam_kinds.SeamKind) -> Runbook:
    shown = any("`holdfast incident show" in one for one in kind.confirm)
    return Runbook(
        name=kind.name,
        title=kind.title,
        teams=kind.teams,
        shows=kind.shows,
        alike=kind.alike,
        confirm=kind.confirm if shown else (*kind.confirm, SHOW_INCIDENT),
        act=kind.act,
        leave=kind.leave,
        over=kind.over,
        absorbs=kind.absorbs,
    )


def find(name: str) -> Runbook | None:
    """The runbook with this name, or of this cause; None if there is none."""
    known = "fleet.action_failed" if name.startswith(ACTION) else CAUSES.get(name, name)
    return all_runbooks().get(known)


def fill(runbook: Runbook, values: Mapping[str, str]) -> Runbook:
    """Fills our own names; braces of a query stay. Users choose some of the values: between backticks each value is
    quoted as one word of a command, and elsewhere it cannot begin a command."""
    plain = {name: " ".join(value.replace("`", "'").split()) for name, value in values.items()}

    def filled(text: str) -> str:
        parts = text.split("`")
        for place in range(0, len(parts), 2):
            for name, value in plain.items():
                parts[place] = parts[place].replace(f"<{name}>", value)
        for place in range(1, len(parts), 2):
            parts[place] = command_line.fill(parts[place], plain)
        return "`".join(parts)

    return replace(
        runbook,
        shows=filled(runbook.shows),
        alike=filled(runbook.alike),
        confirm=tuple(map(filled, runbook.confirm)),
        act=tuple(map(filled, runbook.act)),
        leave=filled(runbook.leave),
        over=filled(runbook.over),
    )
