"""Reports of agents: each stored once, whatever arrives twice, late or in another order."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from holdfast.model.report import Report, VerdictChange
from holdfast.model.signal import Event
from holdfast.store.schema import events, sessions, verdict_changes, verdicts
from holdfast.store.sequence import Seen
from holdfast.store.text import clean, decode, encode

Key = tuple[str, str]  # node, session
KEYS_AT_ONCE = 500  # bounded, so that one statement never outgrows what an engine takes

_update_session = (
    update(sessions)
    .where(sessions.c.node == bindparam("key_node"), sessions.c.session == bindparam("key_session"))
    .values(seen=bindparam("now_seen"), stored_at=bindparam("now_stored"), heartbeat_at=bindparam("now_heartbeat"))
)


def insert_into(connection: Connection, table: Any) -> Any:
    """The engines' own INSERT: both have ON CONFLICT, standard SQL does not."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def record(connection: Connection, reports: Sequence[Report], now: float) -> list[bool]:
    """Store what is new; True for each report that was. The caller's commit makes it so."""
    keys = [(clean(report.node), clean(report.session)) for report in reports]
    held = _lock_sessions(connection, sorted(set(keys)), now)
    fresh = [held[key][0].add(report.seq) for key, report in zip(keys, reports, strict=True)]
    new = [report for report, is_new in zip(reports, fresh, strict=True) if is_new]
    beats = {key for key, report, is_new in zip(keys, reports, fresh, strict=True) if is_new and report.heartbeat}
    touched = sorted({key for key, is_new in zip(keys, fresh, strict=True) if is_new})
    _execute(
        connection,
        _update_session,
        [
            {
                "key_node": key[0],
                "key_session": key[1],
                "now_seen": str(held[key][0]),
                "now_stored": now,
                "now_heartbeat": now if key in beats else held[key][1],
            }
            for key in touched
        ],
    )
    _execute(connection, events.insert(), [_event(r, event, now) for r in new for event in r.events])
    changes = [(report, change) for report in new for change in report.changes]
    _execute(connection, verdict_changes.insert(), [_change(report, change, now) for report, change in changes])
    _keep_latest(connection, [_verdict(report, change, now) for report, change in changes])
    return fresh


def _lock_sessions(connection: Connection, keys: list[Key], now: float) -> dict[Key, tuple[Seen, float | None]]:
    """What was seen of each session, locked until commit, always in the same order: two writers cannot deadlock."""
    held = _read_sessions(connection, keys)
    if missing := [key for key in keys if key not in held]:
        rows = [{"node": node, "session": session, "seen": "", "stored_at": now} for node, session in missing]
        _execute(connection, insert_into(connection, sessions).on_conflict_do_nothing(), rows)
        held |= _read_sessions(connection, missing)
    return held


def _read_sessions(connection: Connection, keys: list[Key]) -> dict[Key, tuple[Seen, float | None]]:
    columns = (sessions.c.node, sessions.c.session)
    held = {}
    for start in range(0, len(keys), KEYS_AT_ONCE):
        asked = (
            select(*columns, sessions.c.seen, sessions.c.heartbeat_at)
            .where(tuple_(*columns).in_(keys[start : start + KEYS_AT_ONCE]))
            .order_by(*columns)
            .with_for_update()
        )
        for node, session, seen, beat in connection.execute(asked):
            held[node, session] = (Seen(seen), beat)
    return held


def _when(at: float, report: Report, now: float) -> float:
    """A text without a time happened when it was reported; nothing happened later than it was stored."""
    return min(at or report.at, now)


def _event(report: Report, event: Event, now: float) -> dict[str, Any]:
    return {
        "stored_at": now,
        "node": clean(report.node),
        "at": _when(event.at, report, now),
        "kind": clean(event.kind),
        "subject": clean(event.subject),
        "twin": report.twin,
        "body": encode(event),
    }


def _change(report: Report, change: VerdictChange, now: float) -> dict[str, Any]:
    return {
        "stored_at": now,
        "node": clean(report.node),
        "at": _when(change.at, report, now),
        "check_name": clean(change.check),
        "before": clean(change.before),
        "after": clean(change.after),
        "reason": clean(change.reason),
        "twin": report.twin,
        "body": encode({"subjects": change.subjects, "evidence": change.evidence}),
    }


def _verdict(report: Report, change: VerdictChange, now: float) -> dict[str, Any]:
    at = _when(change.at, report, now)
    return {"node": clean(report.node), "check_name": clean(change.check), "at": at, "body": encode(change)}


def _keep_latest(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """The verdict in force is the newest by its own time: a late report changes history, not the present."""
    insert = insert_into(connection, verdicts)
    newer = {"at": insert.excluded.at, "body": insert.excluded.body}
    upsert = insert.on_conflict_do_update(
        index_elements=["node", "check_name"], set_=newer, where=verdicts.c.at <= insert.excluded.at
    )
    _execute(connection, upsert, sorted(rows, key=lambda row: (row["node"], row["check_name"], row["at"])))


def _execute(connection: Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(statement, rows)


def heartbeats(connection: Connection) -> dict[str, float]:
    """When each node was last heard of, by the controller's clock."""
    asked = select(sessions.c.node, func.max(sessions.c.heartbeat_at)).group_by(sessions.c.node)
    return {node: beat for node, beat in connection.execute(asked) if beat is not None}


def current_verdicts(connection: Connection, node: str | None) -> dict[str, list[VerdictChange]]:
    """The latest verdict of every check, by node."""
    asked = select(verdicts.c.node, verdicts.c.body).order_by(verdicts.c.node, verdicts.c.check_name)
    found: dict[str, list[VerdictChange]] = {}
    for name, body in connection.execute(asked if node is None else asked.where(verdicts.c.node == node)):
        found.setdefault(name, []).append(decode(body, VerdictChange))
    return found


def missing(connection: Connection, node: str) -> dict[str, list[tuple[int, int]]]:
    """By session, the report numbers that never came: a spool that overflowed, or a store restored from a backup."""
    asked = select(sessions.c.session, sessions.c.seen).where(sessions.c.node == node)
    return {session: gaps for session, seen in connection.execute(asked) if (gaps := Seen(seen).gaps())}
