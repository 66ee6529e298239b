"""Reports of agents: each stored once, in any order of arrival."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, func, literal_column, select, text, tuple_, update

from holdfast.fleet.store.bulk import Rows, as_document, given, insert_many
from holdfast.fleet.store.schema import events, sessions, transitions, verdict_changes, verdicts
from holdfast.fleet.store.sequence import StoredSequence
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report, ReportMark, VerdictChange, is_current

Key = tuple[str, str]  # (node, session)
Held = tuple[StoredSequence, float | None]  # (stored numbers, last heartbeat)
MOST_KNOWN = 100_000
KEYS_AT_ONCE = 500  # bounded, so that a statement stays within the limits of the engines

_NEW = ReportMark(*(literal_column(f"excluded.{name}") for name in ReportMark._fields))
_IF_CURRENT = (
    "ON CONFLICT (node, check_name) DO UPDATE "
    "SET session = excluded.session, seq = excluded.seq, at = excluded.at, body = excluded.body WHERE "
    f"{is_current(_NEW, ReportMark(verdicts.c.session, verdicts.c.seq, verdicts.c.at))}"
)
_update_one = (
    update(sessions)
    .where(sessions.c.node == bindparam("key_node"), sessions.c.session == bindparam("key_session"))
    .values({name: bindparam(f"new_{name}") for name in ("seen", "stored_at", "heartbeat_at")})
)
_update_many = text(
    "UPDATE sessions SET seen = new.seen, stored_at = new.stored_at, heartbeat_at = new.heartbeat_at "
    f"FROM {given(sessions, ('node', 'session', 'seen', 'stored_at', 'heartbeat_at'), 'new')} "
    "WHERE sessions.node = new.node AND sessions.session = new.session"
)
_read_many = text(
    "SELECT node, session, seen, heartbeat_at FROM sessions "
    f"JOIN {given(sessions, ('node', 'session'), 'asked')} USING (node, session) "
    "ORDER BY node, session FOR UPDATE OF sessions"
)


def key_of(node: str, session: str) -> Key:
    return clean(node), clean(session)


def record(
    connection: Connection, reports: Sequence[Report], now: float, known: set[Key]
) -> tuple[list[bool], dict[Key, StoredSequence]]:
    """Stores new reports. Returns for each whether it was new, and the stored numbers of each session. The caller
    commits.

    `known` holds sessions that should already have a row; it is updated.
    """
    keys = [key_of(report.node, report.session) for report in reports]
    held = _lock_sessions(connection, sorted(set(keys)), now, known)
    fresh = [held[key][0].add(report.seq) for key, report in zip(keys, reports, strict=True)]
    new = [report for report, is_new in zip(reports, fresh, strict=True) if is_new]
    beats = {key for key, report, is_new in zip(keys, reports, fresh, strict=True) if is_new and report.heartbeat}
    touched = sorted({key for key, is_new in zip(keys, fresh, strict=True) if is_new})
    _update_sessions(connection, [_session(key, held[key], now, beat=key in beats) for key in touched])
    insert_many(connection, events, [_event(report, event, now) for report in new for event in report.events])
    changes = [(report, change) for report in new for change in report.changes]
    insert_many(connection, verdict_changes, [_change(report, change, now) for report, change in changes])
    _keep_latest(connection, [_verdict(report, change, now) for report, change in changes])
    return fresh, {key: seen for key, (seen, _) in held.items()}


def _lock_sessions(connection: Connection, keys: list[Key], now: float, known: set[Key]) -> dict[Key, Held]:
    """The stored numbers of each session, locked until the commit. All rows are created before the first is locked, and
    both steps follow the order of the keys, so two controllers cannot deadlock."""
    if len(known) > MOST_KNOWN:
        known.clear()
    _insert_missing(connection, [key for key in keys if key not in known], now)
    held = _read_all(connection, keys)
    lost = [key for key in keys if key not in held]  # deleted by retention, or never committed
    _insert_missing(connection, lost, now)
    known.update(keys)
    return held | _read_all(connection, lost)


def _insert_missing(connection: Connection, keys: list[Key], now: float) -> None:
    rows = [{"node": node, "session": session, "seen": "", "stored_at": now} for node, session in keys]
    insert_many(connection, sessions, rows, "ON CONFLICT DO NOTHING")


def _read_all(connection: Connection, keys: list[Key]) -> dict[Key, Held]:
    return {
        (node, session): (StoredSequence(seen), beat)
        for start in range(0, len(keys), KEYS_AT_ONCE)
        for node, session, seen, beat in _read_some(connection, keys[start : start + KEYS_AT_ONCE])
    }


def _read_some(connection: Connection, keys: list[Key]) -> Iterable[Any]:
    if connection.dialect.name == "postgresql":
        return connection.execute(_read_many, as_document([{"node": node, "session": name} for node, name in keys]))
    key = (sessions.c.node, sessions.c.session)
    return connection.execute(select(*key, sessions.c.seen, sessions.c.heartbeat_at).where(tuple_(*key).in_(keys)))


def _session(key: Key, held: Held, now: float, *, beat: bool) -> dict[str, Any]:
    seen, last_beat = held
    named = {"node": key[0], "session": key[1], "seen": str(seen), "stored_at": now}
    return {**named, "heartbeat_at": now if beat else last_beat}


def _update_sessions(connection: Connection, rows: Rows) -> None:
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(_update_many, as_document(rows))
    else:
        keyed = {"node": "key_node", "session": "key_session"}
        connection.execute(_update_one, [{keyed.get(n, f"new_{n}"): v for n, v in row.items()} for row in rows])


def _event(report: Report, event: Event, now: float) -> dict[str, Any]:
    return {
        "stored_at": now,
        "node": clean(report.node),
        "at": report.when(event.at, now),
        "kind": clean(event.kind),
        "subject": clean(event.subject),
        "twin": report.twin,
        "body": encode(event),
    }


def _change(report: Report, change: VerdictChange, now: float) -> dict[str, Any]:
    return {
        "stored_at": now,
        "node": clean(report.node),
        "at": report.when(change.at, now),
        "check_name": clean(change.check),
        "before": clean(change.before),
        "after": clean(change.after),
        "reason": clean(change.reason),
        "twin": report.twin,
        "body": encode({"subjects": change.subjects, "evidence": change.evidence, "remedy": change.remedy}),
    }


def _verdict(report: Report, change: VerdictChange, now: float) -> dict[str, Any]:
    return {
        "node": clean(report.node),
        "check_name": clean(change.check),
        "session": clean(report.session),
        "seq": report.seq,
        "at": report.when(change.at, now),
        "body": encode(report.dated(change, now)),
    }


def _keep_latest(connection: Connection, rows: Rows) -> None:
    """Updates the current verdict of each check. A late report changes the history, not the current verdict."""
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["node"], row["check_name"])
        if key not in latest or is_current(_sent(row), _sent(latest[key])):
            latest[key] = row
    insert_many(connection, verdicts, [latest[key] for key in sorted(latest)], _IF_CURRENT)


def _sent(row: dict[str, Any]) -> ReportMark:
    return ReportMark(row["session"], row["seq"], row["at"])


def heartbeats(connection: Connection) -> dict[str, float]:
    """Time of each node's last report, by the controller's clock."""
    asked = select(sessions.c.node, func.max(sessions.c.heartbeat_at)).group_by(sessions.c.node)
    return {node: beat for node, beat in connection.execute(asked) if beat is not None}


def current_verdicts(connection: Connection, names: Sequence[str] | None = None) -> dict[str, list[VerdictChange]]:
    """The latest verdict of every check by node; without names, of all nodes. The query returns a row per node, not per
    verdict, because a fleet has half a million verdicts and a new leader reads them all first."""
    if names is None:
        return _decoded(connection, _verdicts_by_node(connection))
    found: dict[str, list[VerdictChange]] = {}
    cleaned = [clean(name) for name in names]
    for start in range(0, len(cleaned), KEYS_AT_ONCE):
        some = verdicts.c.node.in_(cleaned[start : start + KEYS_AT_ONCE])
        found |= _decoded(connection, _verdicts_by_node(connection).where(some))
    return found


def _verdicts_by_node(connection: Connection) -> Select[Any]:
    joined = func.group_concat if connection.dialect.name == "sqlite" else func.string_agg
    return select(verdicts.c.node, joined(verdicts.c.body, ",")).group_by(verdicts.c.node)


def _decoded(connection: Connection, asked: Select[Any]) -> dict[str, list[VerdictChange]]:
    rows = connection.execute(asked)
    return {
        name: sorted(decode(f"[{bodies}]", list[VerdictChange]), key=lambda change: change.check)
        for name, bodies in rows
    }


class NewestRows(NamedTuple):
    """Ids of the newest rows of the tables that record changes. A reader asks for rows after them."""

    change: int
    transition: int


def marks(connection: Connection) -> NewestRows:
    newest = (select(func.coalesce(func.max(table.c.id), 0)) for table in (verdict_changes, transitions))
    return NewestRows(*(int(connection.execute(one).scalar_one()) for one in newest))


def changed_after(connection: Connection, marks: NewestRows, most: int) -> tuple[set[str], NewestRows]:
    """Nodes with new verdicts or transitions, and the cursor. Reads a bounded number of rows of each table."""
    names: set[str] = set()
    ids = []
    for table, after in ((verdict_changes, marks.change), (transitions, marks.transition)):
        asked = select(table.c.id, table.c.node).where(table.c.id > after).order_by(table.c.id).limit(most)
        rows = connection.execute(asked).all()
        names.update(row.node for row in rows)
        ids.append(max([after, *(int(row.id) for row in rows)]))
    return names, NewestRows(*ids)


def changes_since(connection: Connection, since: float, most: int) -> list[tuple[str, VerdictChange]]:
    order = (verdict_changes.c.at, verdict_changes.c.id)
    asked = select(verdict_changes).where(verdict_changes.c.at >= since).order_by(*order).limit(most)
    return [(row.node, _read_change(row)) for row in connection.execute(asked)]


def _read_change(row: Any) -> VerdictChange:
    body = decode(row.body, dict)
    return VerdictChange(
        at=row.at,
        check=row.check_name,
        before=row.before,
        after=row.after,
        reason=row.reason,
        evidence=tuple(body.get("evidence", ())),
        remedy=body.get("remedy", ""),
    )


def has_all_before(connection: Connection, node: str, session: str, seq: int) -> bool:
    """Whether every earlier report of this session is stored."""
    return _seen(connection, node, session).has_all_before(seq)


def newest(connection: Connection, node: str, session: str) -> int:
    """The highest stored number of this session; 0 without one."""
    return _seen(connection, node, session).newest


def _seen(connection: Connection, node: str, session: str) -> StoredSequence:
    key = (sessions.c.node == clean(node), sessions.c.session == clean(session))
    return StoredSequence(connection.execute(select(sessions.c.seen).where(*key)).scalar_one_or_none() or "")


def missing(connection: Connection, node: str) -> dict[str, list[tuple[int, int]]]:
    """Report numbers that never arrived, by session: a spool overflowed, or the store was restored from a backup."""
    asked = select(sessions.c.session, sessions.c.seen).where(sessions.c.node == clean(node))
    return {session: gaps for session, seen in connection.execute(asked) if (gaps := StoredSequence(seen).gaps())}
