"""The asset record of a node: one row each, read inside the writer's batch, gone with the node."""

from holdfast.fleet.store import Store
from holdfast.model.assets import AssetRecord, Part, PartTicket, PartTime

ONE = AssetRecord(parts=(PartTime(Part("gpu/1", "B\x00é", "H100"), 5.0),))
TWO = AssetRecord(tickets=(PartTicket("RMA-1", "open"),))


def test_the_newest_record_of_each_node_is_kept(store: Store) -> None:
    store.save_asset_record("n1", TWO, 1.0)
    store.save_asset_record("n1", ONE, 2.0)
    store.save_asset_record("n2", TWO, 3.0)
    assert store.asset_record("n2") == TWO
    assert store.asset_record("n1").parts[0].since == 5.0
    assert store.asset_record("n3") == AssetRecord()


def test_a_batch_sees_what_it_saved_before_it_is_committed(store: Store) -> None:
    with store.together():
        store.save_asset_record("n1", TWO, 1.0)
        assert store.asset_record_in_batch("n1") == TWO
    assert store.asset_record("n1") == TWO


def test_a_forgotten_node_takes_its_record_along(store: Store) -> None:
    for name in ("n1", "n2"):
        store.save_asset_record(name, TWO, 1.0)
    store.forget_nodes(["n1"], 2.0)
    assert (store.asset_record("n1"), store.asset_record("n2")) == (AssetRecord(), TWO)
