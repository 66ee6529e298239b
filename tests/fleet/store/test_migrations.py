"""Stores of earlier versions keep what they know."""

from pathlib import Path

import msgspec
from alembic import command
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store
from holdfast.fleet.store.migrate import config
from holdfast.model.assets import AssetRecord, Part, PartTime
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage
from holdfast.model.records import LifecycleStep, Transition


def test_repair_steps_and_events_of_an_earlier_store_survive_their_new_names(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    store = Store.open(f"sqlite:///{tmp_path}/new.db")
    epoch = store.lead("c1", 60.0, 0.0)
    assert epoch is not None
    event = NodeEvent(kind=EventKind.NEXT_REPAIR, cause="gpu.ecc", repeat_offender="score 5")
    node = NodeState(name="n1", stage=Stage.RESETTING, repair_step=2, cause="gpu.ecc")
    moved = Transition(node="n1", at=1.0, before=Stage.QUARANTINED, after=Stage.RESETTING, event=event, reason="")
    store.transit_all([LifecycleStep(node=node, transition=moved)], epoch)
    store.close()
    old = (("nodes", '"repair_step":', '"rung":'), ("transitions", '"repeat_offender":', '"lemon":'),
           ("transitions", '"kind":"next_repair"', '"kind":"climb"'))  # fmt: skip
    with create_engine(url).connect() as connection:
        connection.execute(text(f"ATTACH '{tmp_path}/new.db' AS new"))
        command.upgrade(config(connection), "0004")
        for table in ("nodes", "transitions", "leader"):
            connection.execute(text(f"INSERT INTO main.{table} SELECT * FROM new.{table}"))
        for table, now, then in old:
            connection.execute(
                text(f"UPDATE {table} SET body = replace(body, :now, :then)"), {"now": now, "then": then}
            )
        connection.execute(text("UPDATE transitions SET kind = 'climb'"))
        connection.commit()
    again = Store.open(url)
    try:
        assert again.nodes() == [node]
        assert [one.event for one in again.transitions(0.0, 10)] == [event]
    finally:
        again.close()


def test_asset_records_move_from_the_documents_of_seams_to_a_table_of_their_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    record = AssetRecord(parts=(PartTime(Part("gpu/1", "B", "H100"), 5.0),))
    with create_engine(url).connect() as connection:
        command.upgrade(config(connection), "0008")
        rows = [("assets", "n1", msgspec.json.encode(record).decode()), ("planned", "work", "{}")]
        for kind, name, body in rows:
            values = {"kind": kind, "name": name, "body": body}
            connection.execute(text("INSERT INTO seam_documents VALUES (:kind, :name, 7.0, :body)"), values)
        connection.commit()
    store = Store.open(url)
    try:
        assert store.asset_record("n1") == record
        assert store.asset_record("n2") == AssetRecord()
        assert store.seam_documents("assets") == {}
        assert store.seam_documents("planned") == {"work": "{}"}
    finally:
        store.close()
