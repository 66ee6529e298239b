"""Counters of training jobs: one row per job."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from holdfast.fleet.store.bulk import insert_many
from holdfast.fleet.store.schema import trainings
from holdfast.fleet.store.text import clean
from holdfast.model.records import Training

_NEWER = "ON CONFLICT (name, owner) DO UPDATE SET at = excluded.at, body = excluded.body"


def save(connection: Connection, reported: Sequence[Training]) -> None:
    """Each job at most once."""
    rows = [
        {"name": clean(one.name), "owner": clean(one.owner), "at": one.at, "body": clean(one.body)} for one in reported
    ]
    insert_many(connection, trainings, rows, _NEWER)


def newest(connection: Connection, most: int) -> list[Training]:
    asked = select(trainings).order_by(trainings.c.at.desc(), trainings.c.name, trainings.c.owner).limit(most)
    return [Training(name=row.name, owner=row.owner, at=row.at, body=row.body) for row in connection.execute(asked)]
