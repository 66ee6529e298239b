"""What a keeper throws away where room is scarce, and what it never does."""

import pytest

from holdfast.training.checkpoint.keeper.memory import Pages
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


def test_the_buffer_of_the_next_save_is_made_ahead_once_and_used() -> None:
    store = ShardStore(1 << 20)
    assert store.prepare(0, SIZE), "for the first copy too, where its size is known"
    save(store, 1)
    assert store.prepare(0, SIZE)
    assert not store.prepare(0, SIZE), "there is one beside the newest copy"
    used = store.used_bytes()
    save(store, 2)
    assert store.used_bytes() == used
    assert not store.prepare(0, SIZE)
    assert store.prepare(0, 2 * SIZE), "what is too small does not count"


@pytest.mark.parametrize(("copies", "made"), [(4, True), (3, False)])
def test_no_buffer_is_made_ahead_in_the_room_of_a_partners_copies(copies: int, made: bool) -> None:
    size = 32 * SIZE
    store = ShardStore(copies * (size + size // 32))
    save_of(store, size)
    assert store.prepare(0, size) is made


def save_of(store: ShardStore, size: int) -> None:
    store.add(Copy(0, 1, "run", 1, size, "", store.reserve(0, size)))


def test_a_machine_without_memory_is_asked_by_the_save_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(name: str, size: int) -> None:
        raise OSError(12, "no memory")

    monkeypatch.setattr("holdfast.training.checkpoint.keeper.shard_store.Pages.new", no_memory)
    assert not ShardStore(1 << 20).prepare(0, SIZE)


def test_a_save_that_was_faster_keeps_its_buffer_and_the_one_made_ahead_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = ShardStore(1 << 20)
    made = []
    new = Pages.new

    def meanwhile_two_saves(name: str, size: int) -> Pages:
        with monkeypatch.context() as undone:
            undone.setattr(Pages, "new", new)
            save(store, 1)
            save(store, 2)
        made.append(new(name, size))
        return made[0]

    monkeypatch.setattr(Pages, "new", meanwhile_two_saves)
    assert not store.prepare(0, SIZE)
    assert made[0].map.closed
