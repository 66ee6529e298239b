"""State of an inbox item: acknowledged, assigned, muted, commented, resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from holdfast.fleet.inbox.item import Item
from holdfast.model.inbox import ItemAction, ItemNote, ItemRecord

LONGEST_MUTE_HOURS = 24 * 30
LONGEST_COMMENT = 4_000
LONGEST_NAME = 255


class BadCommand(ValueError):
    """The item does not allow this update; the message names the expected ones."""


class ItemState(StrEnum):
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    MUTED = "muted"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCommand:
    item: str
    """The key of an item."""
    action: ItemAction
    assignee: str = ""
    """Of assign; '' takes the assignment back."""
    hours: float = 0.0
    """Of mute: from now on, by the clock."""
    comment: str = ""
    """Of comment; with every other action a note beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView(Item):
    state: ItemState
    acknowledged_by: str = ""
    acknowledged_at: float | None = None
    assignee: str = ""
    muted_until: float | None = None
    resolved_by: str = ""
    resolved_at: float | None = None
    comment: str = ""
    """The last one of its history."""


def check(command: ItemCommand) -> None:
    if not 0 < len(command.item) <= 2 * LONGEST_NAME:
        raise BadCommand("item: expected the key of an item; GET /v1/inbox lists them")
    if command.action is ItemAction.MUTE and not 0 < command.hours <= LONGEST_MUTE_HOURS:
        raise BadCommand(f"hours: expected more than 0 and at most {LONGEST_MUTE_HOURS}")
    if command.action is ItemAction.COMMENT and not command.comment.strip():
        raise BadCommand("comment: expected some text")
    if len(command.comment) > LONGEST_COMMENT:
        raise BadCommand(f"comment: expected at most {LONGEST_COMMENT} characters")
    if len(command.assignee) > LONGEST_NAME:
        raise BadCommand(f"assignee: expected at most {LONGEST_NAME} characters")


def apply(record: ItemRecord | None, command: ItemCommand, who: str, now: float) -> tuple[ItemRecord, ItemNote]:
    """The record after an update, and its line of history. A repeated update changes only the time."""
    text = command.comment.strip()
    known = replace(record or ItemRecord(key=command.item, at=now), at=now)
    known = replace(known, comment=text or known.comment)
    action = command.action
    if action is ItemAction.ACKNOWLEDGE:
        known = replace(known, acknowledged_by=who, acknowledged_at=now)
    elif action is ItemAction.ASSIGN:
        known = replace(known, assignee=command.assignee.strip())
        text = f"to {known.assignee or 'no one'}{f': {text}' if text else ''}"
    elif action is ItemAction.MUTE:
        known = replace(known, muted_until=now + command.hours * 3600)
        text = f"for {command.hours:g} h{f': {text}' if text else ''}"
    elif action is ItemAction.UNMUTE:
        known = replace(known, muted_until=None)
    elif action is ItemAction.RESOLVE:
        known = replace(known, resolved_by=who, resolved_at=now)
    elif action is ItemAction.REOPEN:
        known = replace(
            known, resolved_by="", resolved_at=None, acknowledged_by="", acknowledged_at=None, muted_until=None
        )
    return known, ItemNote(key=command.item, at=now, who=who, action=action, text=text)


def state_of(record: ItemRecord | None, now: float) -> ItemState:
    """The state of an item: resolved takes precedence over muted, muted over acknowledged. A mute may have expired."""
    if record is None:
        return ItemState.OPEN
    if record.resolved_at is not None:
        return ItemState.RESOLVED
    if record.muted_until is not None and record.muted_until > now:
        return ItemState.MUTED
    return ItemState.ACKNOWLEDGED if record.acknowledged_at is not None else ItemState.OPEN


def joined(found: Sequence[Item], records: Mapping[str, ItemRecord], now: float) -> list[ItemView]:
    return [_view(one, records.get(one.key), now) for one in found]


def _view(item: Item, record: ItemRecord | None, now: float) -> ItemView:
    shown = {one.name: getattr(item, one.name) for one in fields(item)}
    held = record or ItemRecord(key=item.key, at=item.since)
    return ItemView(
        **shown,
        state=state_of(record, now),
        acknowledged_by=held.acknowledged_by,
        acknowledged_at=held.acknowledged_at,
        assignee=held.assignee,
        muted_until=held.muted_until,
        resolved_by=held.resolved_by,
        resolved_at=held.resolved_at,
        comment=held.comment,
    )
