"""Stored results of probe sessions."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from holdfast.fleet.store.bulk import insert_many
from holdfast.fleet.store.schema import proofs
from holdfast.fleet.store.text import clean
from holdfast.model.wire.probe import Proof


def save(connection: Connection, reported: Sequence[Proof]) -> None:
    rows = [
        {
            "at": proof.at,
            "one": clean(proof.one),
            "other": clean(proof.other),
            "bytes_per_second": proof.bytes_per_second,
            "note": clean(proof.note),
        }
        for proof in reported
    ]
    insert_many(connection, proofs, rows)


def since(connection: Connection, at: float, most: int) -> list[Proof]:
    """The newest entries since then, oldest first."""
    asked = select(proofs).where(proofs.c.at >= at).order_by(proofs.c.at.desc(), proofs.c.id.desc()).limit(most)
    found = [
        Proof(one=row.one, other=row.other, at=row.at, bytes_per_second=row.bytes_per_second, note=row.note)
        for row in connection.execute(asked)
    ]
    return found[::-1]
