"""What a keeper throws away where room is scarce, and what it never does."""

import pytest

from holdfast.training.checkpoint.keeper.shard_store import Copy, Full, ShardStore

SIZE = 4096


def save(store: ShardStore, step: int) -> list[int]:
    """The steps that are held afterwards."""
    store.add(Copy(0, step, "run", 1, SIZE, "", store.reserve(0, SIZE)))
    return [copy.step for copy in store.held()]


def test_the_step_a_run_was_loaded_from_stays_until_a_newer_one_is_committed() -> None:
    store = ShardStore(1 << 20)
    save(store, 12)  # fetched from a partner into a new keeper, which knows of no commit
    store.rewind(12)
    assert [save(store, step) for step in (13, 14, 15, 16)] == [
        [12, 13],
        [12, 13, 14],
        [12, 14, 15],
        [12, 15, 16],
    ]
    store.commit(15)
    assert [save(store, step) for step in (17, 18)] == [[15, 16, 17], [15, 17, 18]]


def test_where_an_older_committed_step_is_here_too_saving_goes_on_and_that_one_stays() -> None:
    store = ShardStore(1 << 20)
    save(store, 11)
    store.commit(11)
    save(store, 12)
    store.rewind(12)
    assert [save(store, step) for step in (13, 14, 15)] == [[11, 12, 13], [11, 13, 14], [11, 14, 15]]


def test_what_only_waits_for_storage_makes_room_and_what_is_read_does_not() -> None:
    store = ShardStore(1 << 20)
    for step in (1, 2):
        save(store, step)
        store.want(store.held()[-1])
    save(store, 3)
    store.commit(3)
    with store.reading(0, 1):
        assert save(store, 4) == [1, 3, 4]
        with pytest.raises(Full):
            store.protect(0, 4)
            store.reserve(0, SIZE)
