"""Retention: PostgreSQL drops whole weekly partitions; everything else is deleted in bounded batches."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, or_, select, text, tuple_

from holdfast.fleet.store.migrate import alone
from holdfast.fleet.store.records import of_job
from holdfast.fleet.store.schema import (
    PARTITIONED,
    action_steps,
    actions,
    audit,
    credentials,
    inbox,
    inbox_notes,
    incidents,
    job_nodes,
    jobs,
    join_tokens,
    proofs,
    sessions,
    trainings,
    transitions,
)
from holdfast.model.records import FINAL

WEEK = timedelta(weeks=1)
WEEKS_AHEAD = 4
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def partitions_ahead(connection: Connection, now: float) -> float:
    """Creates the partitions of this week and the coming ones. Returns when to call it again (never on SQLite)."""
    if connection.dialect.name != "postgresql":
        return float("inf")
    alone(connection)
    this_week = _MONDAY + (datetime.fromtimestamp(now, UTC) - _MONDAY) // WEEK * WEEK
    for table in PARTITIONED:
        there = _weeks(connection, table)
        for monday in (this_week + ahead * WEEK for ahead in range(WEEKS_AHEAD)):
            if monday not in there:
                _make(connection, table, monday)
    return (this_week + WEEK).timestamp()


def retain(connection: Connection, before: float, most: int) -> int:
    """Deletes old rows, at most `most` of each table. Returns how many; 0 when none are left."""
    alone(connection)
    final = actions.c.state.in_([state.value for state in FINAL])
    gone = sum(_forget_reports(connection, table, before, most) for table in PARTITIONED)
    gone += _delete_counted(connection, transitions, transitions.c.at < before, most)
    gone += _delete_counted(connection, action_steps, action_steps.c.at < before, most)
    gone += _delete_counted(connection, actions, and_(actions.c.at < before, final), most)
    gone += _delete_counted(connection, proofs, proofs.c.at < before, most)
    gone += _delete_counted(connection, audit, audit.c.at < before, most)
    gone += _delete_counted(connection, inbox_notes, inbox_notes.c.at < before, most)
    for tokens in (credentials, join_tokens):
        ended = or_(tokens.c.expires < before, tokens.c.revoked < before)
        gone += _delete_keyed(connection, tokens, ended, most)
    gone += _delete_keyed(connection, sessions, sessions.c.stored_at < before, most)
    gone += _delete_keyed(connection, inbox, inbox.c.at < before, most)
    gone += _delete_keyed(connection, incidents, incidents.c.closed < before, most)
    gone += _delete_keyed(connection, jobs, jobs.c.ended < before, most)
    gone += _delete_keyed(connection, trainings, trainings.c.at < before, most)
    kept = select(jobs.c.id).where(of_job).exists()
    return gone + _delete_keyed(connection, job_nodes, ~kept, most)


def _forget_reports(connection: Connection, table: Table, before: float, most: int) -> int:
    if connection.dialect.name != "postgresql":
        return _delete_counted(connection, table, table.c.stored_at < before, most)
    past = [monday for monday in _weeks(connection, table) if (monday + WEEK).timestamp() <= before]
    for monday in past:
        connection.execute(text(f"DROP TABLE {_name(table, monday)}"))
    spare = f"{table.name}_default"
    some = f"SELECT ctid FROM {spare} WHERE stored_at < :before LIMIT :most"
    asked = text(f"DELETE FROM {spare} WHERE ctid = ANY(ARRAY({some}))")
    return len(past) + connection.execute(asked, {"before": before, "most": most}).rowcount


def _delete_counted(connection: Connection, table: Table, old: ColumnElement[bool], most: int) -> int:
    """Deletes by id. Ids grow with time, so the oldest rows go first without an index on time."""
    first = select(table.c.id).order_by(table.c.id).limit(most)
    return connection.execute(delete(table).where(table.c.id.in_(first), old)).rowcount


def _delete_keyed(connection: Connection, table: Table, old: ColumnElement[bool], most: int) -> int:
    keys = list(table.primary_key.columns)
    return connection.execute(delete(table).where(tuple_(*keys).in_(select(*keys).where(old).limit(most)))).rowcount


def _make(connection: Connection, table: Table, monday: datetime) -> None:
    """Creates the partition of a week. Rows of that week move over from the default partition first; otherwise it could
    not be attached."""
    name, spare = _name(table, monday), f"{table.name}_default"
    low, high = monday.timestamp(), (monday + WEEK).timestamp()
    within = f"stored_at >= {low!r} AND stored_at < {high!r}"
    connection.execute(text(f"CREATE TABLE {name} (LIKE {table.name} INCLUDING DEFAULTS)"))
    connection.execute(text(f"LOCK TABLE {spare} IN ACCESS EXCLUSIVE MODE"))
    moved = f"WITH moved AS (DELETE FROM {spare} WHERE {within} RETURNING *)"
    connection.execute(text(f"{moved} INSERT INTO {name} SELECT * FROM moved"))
    bounds = f"FOR VALUES FROM ({low!r}) TO ({high!r})"
    connection.execute(text(f"ALTER TABLE {table.name} ATTACH PARTITION {name} {bounds}"))


def _name(table: Table, monday: datetime) -> str:
    return f"{table.name}_{monday:%Y%m%d}"


def _weeks(connection: Connection, table: Table) -> set[datetime]:
    asked = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = CAST(:name AS regclass)")
    names = {name for (name,) in connection.execute(asked, {"name": table.name})} - {f"{table.name}_default"}
    return {datetime.strptime(name.rpartition("_")[2], "%Y%m%d").replace(tzinfo=UTC) for name in names}
