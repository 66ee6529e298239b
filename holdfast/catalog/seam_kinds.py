"""Seam kinds: title, the verdicts that are symptoms, and the runbook."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamKind:
    name: str
    title: str
    """What is wrong, worded to follow the cause: 'coolant flow is low'."""
    teams: tuple[str, ...] = ()
    """Who investigates first, and who is affected."""
    absorbs: tuple[str, ...] = ()
    """Checks whose verdicts on the victims are symptoms of it."""
    shows: str = ""
    alike: str = ""
    """Another fault with the same symptoms."""
    confirm: tuple[str, ...] = ()
    """Questions with their queries; {cause}, {nodes}, {jobs}, {since} are filled in."""
    act: tuple[str, ...] = ()
    leave: str = ""
    """What must not be done."""
    over: str = ""


@cache
def kinds() -> dict[str, SeamKind]:
    text = resources.files(__package__).joinpath("seam_kinds.toml").read_text(encoding="utf-8")
    facts = tomllib.loads(text)
    groups = facts.pop("absorbs")
    found = {}
    for group, members in facts.items():
        for name, reported in members.items():
            lists: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in reported.items()
            }
            lists.setdefault("absorbs", tuple(groups.get(group, ())))
            found[f"{group}.{name}"] = SeamKind(name=f"{group}.{name}", **lists)
    return found


def kind(name: str) -> SeamKind:
    """The kind with this name. An unknown kind has its name as title and absorbs no verdicts."""
    return kinds().get(name) or SeamKind(name=name, title=name)


def absorbs(name: str, checks: Collection[str]) -> bool:
    return not set(checks).isdisjoint(kind(name).absorbs)
