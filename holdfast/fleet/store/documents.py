"""Documents, one row each: asset records of nodes, seam documents, counters of training jobs."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from holdfast.fleet.store.bulk import insert_into, insert_many
from holdfast.fleet.store.schema import asset_records, seam_documents, trainings
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.assets import AssetRecord
from holdfast.model.records import Training

_NEWER = "ON CONFLICT (name, owner) DO UPDATE SET at = excluded.at, body = excluded.body"


def save_assets(connection: Connection, node: str, record: AssetRecord, at: float) -> None:
    row = {"node": clean(node), "at": at, "body": clean(encode(record))}
    new = insert_into(connection, asset_records)
    changed = {"at": new.excluded.at, "body": new.excluded.body}
    connection.execute(new.on_conflict_do_update(index_elements=["node"], set_=changed), row)


def assets_of(connection: Connection, node: str) -> AssetRecord:
    """The asset record of a node; empty if unknown."""
    asked = select(asset_records.c.body).where(asset_records.c.node == clean(node))
    body = connection.execute(asked).scalar_one_or_none()
    return decode(body, AssetRecord) if body else AssetRecord()


def save_seam_documents(connection: Connection, kind: str, documents: Mapping[str, str], at: float) -> None:
    """Saves documents by kind and name: learned baselines, announced work."""
    for name, body in documents.items():
        _remove(connection, kind, name)
        connection.execute(insert(seam_documents).values(kind=kind, name=name, at=at, body=body))


def load_seam_documents(connection: Connection, kind: str) -> dict[str, str]:
    asked = select(seam_documents.c.name, seam_documents.c.body).where(seam_documents.c.kind == kind)
    return {row.name: row.body for row in connection.execute(asked.order_by(seam_documents.c.name))}


def remove_seam_document(connection: Connection, kind: str, name: str) -> bool:
    return _remove(connection, kind, name) > 0


def _remove(connection: Connection, kind: str, name: str) -> int:
    mine = (seam_documents.c.kind == kind) & (seam_documents.c.name == name)
    return connection.execute(delete(seam_documents).where(mine)).rowcount


def save_trainings(connection: Connection, reported: Sequence[Training]) -> None:
    """Saves counters of jobs; each job at most once."""
    rows = [
        {"name": clean(one.name), "owner": clean(one.owner), "at": one.at, "body": clean(one.body)} for one in reported
    ]
    insert_many(connection, trainings, rows, _NEWER)


def newest_trainings(connection: Connection, most: int) -> list[Training]:
    asked = select(trainings).order_by(trainings.c.at.desc(), trainings.c.name, trainings.c.owner).limit(most)
    return [Training(name=row.name, owner=row.owner, at=row.at, body=row.body) for row in connection.execute(asked)]
