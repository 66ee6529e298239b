"""What a keeper writes before it ends, and what it takes for written."""

import queue
import threading
from pathlib import Path

import pytest
import torch

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.keeper.flush import Flushing
from holdfast.training.checkpoint.keeper.pacing import RateLimit
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import rank_folder


def copy_of(store: ShardStore, rank: int, attempt: str, value: float) -> Copy:
    encoded = encode({"weights": torch.full((10,), value)})
    layout = shard.plan(shard.About("job", rank, 2, 5), encoded)
    pages = store.reserve(rank, layout.size)
    shard.write(layout, encoded, pages.map)
    return Copy(rank, 5, attempt, 2, layout.size, pages.digest(layout.size), pages)


def test_what_another_run_wrote_of_a_partner_does_not_count_as_written(tmp_path: Path) -> None:
    store, troubles = ShardStore(1 << 20), dict[str, str]()
    flushing = Flushing(tmp_path, store, troubles, RateLimit(0))
    flushing.expect(0)
    for rank in (0, 1):
        before = copy_of(store, rank, "before", 1.0)
        storage.write(tmp_path, shard.read(before.pages.map, before.size), "before")
        store.add(copy_of(store, rank, "now", 2.0))
    assert flushing.flush(60.0) == [5]
    for rank in (0, 1):
        got, attempt = storage.read(tmp_path, 5, rank)
        assert (attempt, float(got.tensors[0][0])) == ("now", 2.0)
    (rank_folder(tmp_path, 5, 1) / "holdfast.index").write_bytes(b"noise")
    assert flushing.flush(60.0) == [5]
    assert storage.writer(tmp_path, 5, 1) == "now", "a damaged one is written again"
    assert troubles == {}


def test_a_copy_that_was_written_over_is_not_stored(tmp_path: Path) -> None:
    store = ShardStore(1 << 20)
    flushing = Flushing(tmp_path, store, {}, RateLimit(0))
    copy = copy_of(store, 0, "now", 1.0)
    store.add(copy)
    store.add(copy_of(store, 0, "later", 2.0))
    assert not flushing.store(copy, lambda was_there: None)
    assert store.held()[0].readers == 0


def test_storage_that_hangs_takes_one_buffer_and_a_flush_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, troubles, tried = ShardStore(1 << 20), dict[str, str](), queue.SimpleQueue[bool]()
    flushing = Flushing(tmp_path, store, troubles, RateLimit(0))
    flushing.expect(0)
    reached, released = threading.Event(), threading.Event()
    first = copy_of(store, 0, "first", 1.0)

    def hang(size: int) -> str:
        reached.set()
        released.wait()
        return first.digest

    monkeypatch.setattr(first.pages, "digest", hang)
    store.add(first)
    assert flushing.store(first, tried.put) and reached.wait(60)
    second = copy_of(store, 0, "second", 2.0)
    store.add(second)
    assert flushing.store(second, tried.put)
    assert (first.readers, second.readers) == (1, 0), "what waits for its turn may be written over"
    assert flushing.flush(0.2) == []
    assert troubles == {"storage": "not everything was written within 0.2 s"}
    released.set()
    assert tried.get(timeout=60) and tried.get(timeout=60)
    assert storage.writer(tmp_path, 5, 0) == "second"
    assert flushing.flush(60.0) == [5] and troubles == {}


def test_a_flush_that_hangs_itself_is_not_waited_for_longer_than_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, troubles = ShardStore(1 << 20), dict[str, str]()
    flushing = Flushing(tmp_path, store, troubles, RateLimit(0))
    copy, released = copy_of(store, 0, "now", 1.0), threading.Event()
    monkeypatch.setattr(copy.pages, "digest", lambda size: released.wait() and copy.digest)
    store.add(copy)
    assert flushing.flush(0.2) == []
    assert "not everything was written" in troubles["storage"]
    released.set()
    assert flushing.flush(60.0) == [5]


def test_what_no_one_foresaw_is_reported_and_the_next_copy_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, troubles, tried = ShardStore(1 << 20), dict[str, str](), queue.SimpleQueue[bool]()
    flushing = Flushing(tmp_path, store, troubles, RateLimit(0))
    copy = copy_of(store, 0, "now", 1.0)
    with monkeypatch.context() as now:
        now.setattr(copy.pages, "digest", lambda size: dict[str, str]()["something new"])
        store.add(copy)
        assert flushing.store(copy, tried.put) and tried.get(timeout=60)
        assert troubles == {"storage of rank 0": "step 5 of rank 0 is not in storage: KeyError('something new')"}
    assert flushing.store(copy, tried.put) and tried.get(timeout=60)
    assert troubles == {} and storage.writer(tmp_path, 5, 0) == "now"


def test_a_draft_is_no_shard_and_one_in_the_wrong_place_is_reported(tmp_path: Path) -> None:
    store, message = ShardStore(1 << 20), list[str]()
    for rank in (0, 1):
        copy = copy_of(store, rank, "now", 1.0)
        storage.write(tmp_path, shard.read(copy.pages.map, copy.size), "now")
    whole, draft = rank_folder(tmp_path, 5, 1), rank_folder(tmp_path, 5, 1).with_name("rank-00001.draft-7")
    whole.rename(draft)
    assert storage.shards(tmp_path, message.append) == [(5, "now", 2, [0])] and message == []
    draft.rename(rank_folder(tmp_path, 5, 3))
    assert storage.shards(tmp_path, message.append) == [(5, "now", 2, [0])]
    assert "the index is of step 5 and rank 1, expected that of its folder" in message[0]
