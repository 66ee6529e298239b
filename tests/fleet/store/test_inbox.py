"""Records and notes of inbox items: read back as written, the last state of each, old ones forgotten."""

from holdfast.fleet.inbox.states import ItemCommand, apply
from holdfast.fleet.store import Store
from holdfast.model.inbox import ItemAction, ItemNote, ItemRecord


def test_the_last_record_counts_and_every_note_stays(store: Store) -> None:
    for at, who in ((1.0, "ada"), (2.0, "bob")):
        record = ItemRecord(key="node/n1@0", at=at, acknowledged_by=who, acknowledged_at=at)
        store.save_item(record, ItemNote(key="node/n1@0", at=at, who=who, action=ItemAction.ACKNOWLEDGE, text="ü\0"))
    assert store.item_records(["node/n1@0", "none"]) == {
        "node/n1@0": ItemRecord(key="node/n1@0", at=2.0, acknowledged_by="bob", acknowledged_at=2.0)
    }
    assert [one.who for one in store.item_notes("node/n1@0")] == ["bob", "ada"]


def test_two_updates_of_one_item_in_a_batch_both_stay(store: Store) -> None:
    """An operator comments in the moment in which the history stores the item."""
    key = "node/n1@0"
    with store.together():
        record, note = apply(None, ItemCommand(item=key, action=ItemAction.COMMENT, comment="I look"), "ada", 1.0)
        store.save_item(record, note)
        known = store.item_records_in_batch([key])[key]
        record, note = apply(known, ItemCommand(item=key, action=ItemAction.ACKNOWLEDGE), "bob", 1.0)
        store.save_item(record, note)
    after = store.item_records([key])[key]
    assert (after.comment, after.acknowledged_by) == ("I look", "bob")


def test_what_is_old_is_forgotten(store: Store) -> None:
    for at in (1.0, 50.0):
        store.save_item(
            ItemRecord(key=f"k{at}", at=at), ItemNote(key=f"k{at}", at=at, who="a", action=ItemAction.COMMENT)
        )
    while store.retain(40.0):
        pass
    assert set(store.item_records(["k1.0", "k50.0"])) == {"k50.0"}
    assert store.item_notes("k1.0") == [] and store.item_notes("k50.0")
