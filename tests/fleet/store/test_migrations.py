"""Stores of earlier versions keep what they know."""

from pathlib import Path

from alembic import command
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store
from holdfast.fleet.store.migrate import config
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
