"""The asset record of each node: its parts, those it had, and tickets about them."""

from sqlalchemy import Connection, select

from holdfast.fleet.store.bulk import insert_into
from holdfast.fleet.store.schema import asset_records
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.assets import AssetRecord


def save(connection: Connection, node: str, record: AssetRecord, at: float) -> None:
    row = {"node": clean(node), "at": at, "body": clean(encode(record))}
    new = insert_into(connection, asset_records)
    changed = {"at": new.excluded.at, "body": new.excluded.body}
    connection.execute(new.on_conflict_do_update(index_elements=["node"], set_=changed), row)


def of(connection: Connection, node: str) -> AssetRecord:
    """Empty where nothing is known."""
    asked = select(asset_records.c.body).where(asset_records.c.node == clean(node))
    body = connection.execute(asked).scalar_one_or_none()
    return decode(body, AssetRecord) if body else AssetRecord()
