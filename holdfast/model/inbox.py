"""Inbox records: what operators did with an item. They are stored and survive a restart of the controller."""

from dataclasses import dataclass
from enum import StrEnum


class ItemAction(StrEnum):
    ACKNOWLEDGE = "acknowledge"
    ASSIGN = "assign"
    MUTE = "mute"
    """No notification until a time."""
    UNMUTE = "unmute"
    COMMENT = "comment"
    RESOLVE = "resolve"
    REOPEN = "reopen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSnapshot:
    """The part of an item that is stored after it is over."""

    kind: str
    subject: str
    title: str
    detail: str
    since: float
    lasted_seconds: float = 0.0
    severity: str = "warning"
    owner: str = ""
    remedy: str = ""
    runbook: str = ""
    members: tuple[str, ...] = ()
    cost_so_far: float | None = None
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRecord:
    key: str
    at: float
    """When it was last changed."""
    acknowledged_by: str = ""
    acknowledged_at: float | None = None
    assignee: str = ""
    muted_until: float | None = None
    resolved_by: str = ""
    resolved_at: float | None = None
    comment: str = ""
    """The last one."""
    ended_at: float | None = None
    """When what it is about was over; None while it lasts."""
    outcome: str = ""
    """How it ended."""
    snapshot: ItemSnapshot | None = None
    """None of an item that became a part of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemNote:
    """One line of an item's history."""

    key: str
    at: float
    who: str
    action: ItemAction
    text: str = ""
