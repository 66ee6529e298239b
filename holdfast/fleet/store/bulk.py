"""Bulk inserts: executemany on SQLite, one statement with all rows on PostgreSQL."""

from functools import cache
from typing import Any

from sqlalchemy import Connection, Double, Table, TextClause, text
from sqlalchemy.dialects import postgresql, sqlite

from holdfast.fleet.store.text import encode

Rows = list[dict[str, Any]]


def insert_into(connection: Connection, table: Table) -> Any:
    """The engines' own INSERT: both have ON CONFLICT, standard SQL does not."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def insert_many(connection: Connection, table: Table, rows: Rows, on_conflict: str = "") -> None:
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_insert_one(table, tuple(rows[0]), on_conflict), rows)
    else:
        connection.execute(_insert_all(table, tuple(rows[0]), on_conflict), as_document(rows))


def as_document(rows: Rows) -> dict[str, str]:
    """The rows as one JSON parameter. psycopg needs more time for arrays than the server needs for the rest."""
    return {"rows": encode(rows)}


def given(table: Table, names: tuple[str, ...], alias: str) -> str:
    """The rows of `as_document` as a table expression of PostgreSQL."""
    kinds = [(name, table.c[name].type) for name in names]
    words = [f"{name} {'double precision' if isinstance(kind, Double) else kind}" for name, kind in kinds]
    return f"json_to_recordset(CAST(:rows AS json)) AS {alias}({', '.join(words)})"


@cache
def _insert_one(table: Table, names: tuple[str, ...], on_conflict: str) -> str:
    """Calls the driver directly: for many rows SQLAlchemy needs more time than SQLite."""
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}) {on_conflict}"


@cache
def _insert_all(table: Table, names: tuple[str, ...], on_conflict: str) -> TextClause:
    columns = ", ".join(names)
    return text(f"INSERT INTO {table.name} ({columns}) SELECT * FROM {given(table, names, 'given')} {on_conflict}")
