"""Stored inbox state: the current state of each item, and every update as a note."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, update

from holdfast.fleet.store.bulk import insert_many
from holdfast.fleet.store.schema import inbox, inbox_notes
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.inbox import ItemAction, ItemNote, ItemRecord

KEYS_AT_ONCE = 500
_REPLACE = "ON CONFLICT (key) DO UPDATE SET at = excluded.at, body = excluded.body"


def save(connection: Connection, record: ItemRecord, note: ItemNote) -> None:
    row = {"key": clean(record.key), "at": record.at, "body": encode(record)}
    insert_many(connection, inbox, [row], _REPLACE)
    values = {"item": clean(note.key), "at": note.at, "who": clean(note.who), "action": note.action.value}
    connection.execute(insert(inbox_notes).values(**values, text=clean(note.text)))


def keep(connection: Connection, replaced: Sequence[str], kept: Sequence[ItemRecord]) -> None:
    """Saves records of items that appeared or ended. Notes move with an item to its new key."""
    for before, record in zip(replaced, kept, strict=True):
        if before != record.key:
            connection.execute(delete(inbox).where(inbox.c.key == clean(before)))
            moved = inbox_notes.c.item == clean(before)
            connection.execute(update(inbox_notes).where(moved).values(item=clean(record.key)))
    rows = [{"key": clean(one.key), "at": one.at, "body": encode(one)} for one in kept]
    insert_many(connection, inbox, rows, _REPLACE)


def newest(connection: Connection, since: float, most: int) -> list[ItemRecord]:
    """Items that changed since then, newest first."""
    asked = select(inbox.c.body).where(inbox.c.at >= since).order_by(inbox.c.at.desc()).limit(most)
    return [decode(body, ItemRecord) for (body,) in connection.execute(asked)]


def records(connection: Connection, keys: Sequence[str]) -> dict[str, ItemRecord]:
    wanted = [clean(key) for key in keys]
    found: dict[str, ItemRecord] = {}
    for start in range(0, len(wanted), KEYS_AT_ONCE):
        asked = select(inbox.c.key, inbox.c.body).where(inbox.c.key.in_(wanted[start : start + KEYS_AT_ONCE]))
        found |= {key: decode(body, ItemRecord) for key, body in connection.execute(asked)}
    return found


def notes(connection: Connection, key: str, most: int) -> list[ItemNote]:
    """Notes, newest first."""
    asked = select(inbox_notes).where(inbox_notes.c.item == clean(key)).order_by(inbox_notes.c.id.desc()).limit(most)
    return [
        ItemNote(key=row.item, at=row.at, who=row.who, action=ItemAction(row.action), text=row.text)
        for row in connection.execute(asked)
    ]
