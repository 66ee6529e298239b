"""History of the inbox: past items, with their end and the operators' updates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from holdfast.fleet.inbox.item import Item, ItemKind, Severity
from holdfast.fleet.inbox.job_items import KEPT_SECONDS, RUNS_AGAIN
from holdfast.fleet.inbox.states import ItemState, ItemView
from holdfast.model.inbox import ItemRecord, ItemSnapshot

BY_ITSELF = "holdfast"
KEPT_MEMBERS = 20
INCIDENT = "incident/"
OUTCOMES = {ItemKind.NODE: "the node no longer needs an operator", ItemKind.INCIDENT: "the incident closed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """A change of an item's stored record; the operators' updates stay."""

    key: str
    snapshot: ItemSnapshot | None
    ended_at: float | None = None
    outcome: str = ""
    stored_as: str = ""
    """The key from now on. A group's key has no time: the next group of the kind begins with an empty record."""


@dataclass(slots=True)
class Known:
    """The stored items: open ones by key, and the keys of past ones."""

    open: dict[str, ItemSnapshot] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, records: Iterable[ItemRecord]) -> "Known":
        known = cls()
        for one in records:
            if one.ended_at is not None:
                known.over.add(one.key)
            elif one.snapshot is not None:
                known.open[one.key] = one.snapshot
        return known

    def stored(self, changes: Iterable[ItemChange]) -> None:
        for one in changes:
            if one.ended_at is not None:
                self.open.pop(one.key, None)
                self.over.add(one.stored_as or one.key)
            elif one.snapshot is not None:
                self.open[one.key] = one.snapshot

    def changes(self, open_: Iterable[Item], over: Iterable[Item], now: float) -> list[ItemChange]:
        """Records to store now."""
        current = {one.key: one for one in open_}
        parts = {f"{INCIDENT}{id_}" for one in current.values() for id_ in one.grouped}
        ended = {one.key: one for one in over if one.key not in self.over}
        found = [ItemChange(key=key, snapshot=snapshot_of(one)) for key, one in current.items() if key not in self.open]
        found += [
            _ended(key, snapshot, now, part=key in parts)
            for key, snapshot in self.open.items()
            if key not in current and key not in ended
        ]
        return found + [
            ItemChange(key=key, snapshot=snapshot_of(one), ended_at=one.ended_at, outcome=one.outcome)
            for key, one in ended.items()
        ]

    def seen(self, open_: Iterable[Item]) -> None:
        """Takes the current items; an item that ends keeps its last snapshot."""
        self.open.update({one.key: snapshot_of(one) for one in open_ if one.key in self.open})


def _ended(key: str, snapshot: ItemSnapshot, now: float, *, part: bool) -> ItemChange:
    if part:  # the item continues as part of a group
        return ItemChange(key=key, snapshot=None, ended_at=now)
    outcome = OUTCOMES.get(ItemKind(snapshot.kind)) or _of_job(snapshot, now)
    dated = key if "@" in key or "#" in key else f"{key}@{snapshot.since:.0f}"
    return ItemChange(key=key, snapshot=snapshot, ended_at=now, outcome=outcome, stored_as=dated)


def _of_job(snapshot: ItemSnapshot, now: float) -> str:
    return RUNS_AGAIN if now - snapshot.since < KEPT_SECONDS else "it was not resolved within a day"


def snapshot_of(item: Item) -> ItemSnapshot:
    kept = {one.name: getattr(item, one.name) for one in fields(ItemSnapshot)}
    kept |= {"kind": item.kind.value, "severity": item.severity.value, "members": item.members[:KEPT_MEMBERS]}
    return ItemSnapshot(**kept)


def merged(record: ItemRecord | None, change: ItemChange, now: float) -> ItemRecord:
    held = record or ItemRecord(key=change.key, at=now)
    return replace(
        held,
        key=change.stored_as or change.key,
        at=now,
        snapshot=change.snapshot,
        ended_at=change.ended_at,
        outcome=change.outcome,
    )


def past(records: Sequence[ItemRecord]) -> list[ItemView]:
    """Past items, the last one first. An item that an operator resolved before its end keeps that operator's name."""
    over = [view for one in records if (view := past_item(one)) is not None]
    return sorted(over, key=lambda one: -(one.resolved_at or 0.0))


def past_item(record: ItemRecord) -> ItemView | None:
    snapshot = record.snapshot
    if snapshot is None or record.ended_at is None:
        return None
    kept = {one.name: getattr(snapshot, one.name) for one in fields(ItemSnapshot)}
    kept |= {"kind": ItemKind(snapshot.kind), "severity": Severity(snapshot.severity)}
    return ItemView(
        **kept,
        key=record.key,
        state=ItemState.RESOLVED,
        acknowledged_by=record.acknowledged_by,
        acknowledged_at=record.acknowledged_at,
        assignee=record.assignee,
        resolved_by=record.resolved_by or BY_ITSELF,
        resolved_at=record.resolved_at if record.resolved_at is not None else record.ended_at,
        comment=record.comment,
        ended_at=record.ended_at,
        outcome=record.outcome,
    )
