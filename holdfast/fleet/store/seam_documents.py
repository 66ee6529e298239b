"""Documents by kind and name: learned baselines, announced work."""

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from holdfast.fleet.store.schema import seam_documents


def save(connection: Connection, kind: str, documents: Mapping[str, str], at: float) -> None:
    for name, body in documents.items():
        _remove(connection, kind, name)
        connection.execute(insert(seam_documents).values(kind=kind, name=name, at=at, body=body))


def load(connection: Connection, kind: str) -> dict[str, str]:
    asked = select(seam_documents.c.name, seam_documents.c.body).where(seam_documents.c.kind == kind)
    return {row.name: row.body for row in connection.execute(asked.order_by(seam_documents.c.name))}


def remove(connection: Connection, kind: str, name: str) -> bool:
    return _remove(connection, kind, name) > 0


def _remove(connection: Connection, kind: str, name: str) -> int:
    mine = (seam_documents.c.kind == kind) & (seam_documents.c.name == name)
    return connection.execute(delete(seam_documents).where(mine)).rowcount
