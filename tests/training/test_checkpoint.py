"""One rank with its real keeper: what is saved is loaded; damage leads to the next tier or to a sentence."""

import os
import signal
from pathlib import Path
from typing import Any

import crew
import orphan
import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.utils.data import DataLoader

from holdfast.training import Checkpoint, Guard
from holdfast.training.checkpoint import membership
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.keeper.wire import WireError
from holdfast.training.checkpoint.keeper_client import Keeper
from holdfast.training.checkpoint.restore import CheckpointError, LoadRefused
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import rank_folder
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")


def state(value: float) -> dict[str, Any]:
    return {"weights": torch.full((1000,), value), "note": f"step {value}"}


def saved(place: Path, *steps: int, **options: Any) -> Checkpoint:
    ckpt = Checkpoint(place, replicas=1, **options)
    for step in steps:
        assert ckpt.save(step, state(step))
    ckpt.status()  # an answer means that everything before it was done
    return ckpt


def loaded(place: Path) -> tuple[int | None, dict[str, Any], str]:
    ckpt = Checkpoint(place, replicas=1)
    into = state(0)
    step = ckpt.load(into)
    ckpt.close()
    return step, into, ckpt.loaded_from


def flip(place: Path, step: int) -> None:
    """One bit of the copy in the keeper's memory, through the descriptor that a rank gets."""
    rank = Keeper(place.name, place, 0, 1)
    rank.attach()
    held, pages = rank.fetch(step)
    pages.map[held.size - 5] ^= 4
    rank.close()


def test_what_was_saved_is_loaded_from_memory_by_the_next_process(place: Path) -> None:
    saved(place, 1, 2, 3).close()
    step, into, source = loaded(place)
    assert (step, source) == (3, "own memory")
    assert torch.equal(into["weights"], torch.full((1000,), 3.0))
    assert into["note"] == "step 3"


def test_the_keeper_sees_when_a_rank_communicates_and_forgets_one_that_went(place: Path) -> None:
    first = Checkpoint(place, replicas=1)
    first.communicating(True)
    assert first.status()["communicating"] == [0]
    first.close()  # without a word, as one that was killed
    second = Checkpoint(place, replicas=1)
    assert second.status()["communicating"] == []
    second.close()


def test_nothing_saved_is_a_start(place: Path) -> None:
    assert loaded(place)[0] is None


def test_a_flipped_bit_in_memory_leads_to_storage_and_one_there_to_a_refusal(place: Path) -> None:
    ckpt = saved(place, 4)
    assert ckpt.flush() == [4]
    ckpt.close()
    flip(place, 4)
    step, into, source = loaded(place)
    assert (step, source) == (4, "storage")
    assert torch.equal(into["weights"], torch.full((1000,), 4.0))
    file = rank_folder(place, 4, 0) / "__0_0.distcp"
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)
    with pytest.raises(EncodingError, match="differ from those that were saved"):
        storage.read(place, 4, 0)
    crew.end_keeper(place, place.name, 0)
    with pytest.raises(CheckpointError, match="none of 1 saved steps could be loaded"):
        loaded(place)


def test_storage_is_read_by_torch_alone(place: Path) -> None:
    ckpt = saved(place, 10, storage_every=10)
    ckpt.flush()
    ckpt.close()
    into = {"weights": torch.zeros(1000)}
    dcp.load(into, checkpoint_id=str(rank_folder(place, 10, 0)), no_dist=True)
    assert torch.equal(into["weights"], torch.full((1000,), 10.0))


def test_a_drained_keeper_leaves_everything_in_storage(place: Path) -> None:
    saved(place, 6).close()
    crew.end_keeper(place, place.name, 0, signal.SIGTERM)
    assert loaded(place)[::2] == (6, "storage")


def test_a_killed_keeper_costs_a_save_and_not_the_training(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "FIRST_PAUSE_SECONDS", 0.1)
    ckpt = saved(place, 1)
    crew.end_keeper(place, place.name, 0)
    assert ckpt.save(2, state(2)) is False
    assert "step 2 was not kept" in ckpt.troubles["save"]
    until(lambda: ckpt.save(3, state(3)), "a new one is started, at the old address")
    ckpt.close()
    assert loaded(place)[0] == 3


def test_what_a_rank_reported_before_it_hung_up_is_done(place: Path) -> None:
    """A save returns before its last order is read: the order counts although nobody waits for the answer."""
    saved(place, 1).close()
    rank = Keeper(place.name, place, 0, 1)
    rank.attach()
    number, _ = rank.reserve(5000, 1.0)
    order = {"buffer": number, "size": 5000, "step": 2, "attempt": "run", "store": False}
    for _ in range(50):
        rank._send({"do": "status"})  # answers that are never read
    rank.seal(order)
    rank.close()
    again = Keeper(place.name, place, 0, 1)
    assert 2 in {held.step for held in again.attach()}
    again.close()


def test_storage_that_cannot_be_written_is_reported_and_survived(place: Path) -> None:
    ckpt = saved(place, 1)
    (place / "step-00000001").write_text("in the way")  # also for root, whom a read-only mode does not stop
    assert ckpt.flush() == []
    ckpt.save(2, state(2))
    assert "is not in storage" in ckpt.status()["troubles"]["storage of rank 0"]
    ckpt.close()


def test_what_cannot_be_kept_is_reported_and_survived(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(1, {"loader": object()}) is False
    assert "state at loader: a object cannot be saved" in ckpt.troubles["save"]
    for strange in ("\udcff", torch.empty(3, device="meta")):
        assert ckpt.save(2, {"loader": strange}) is False
    assert ckpt.save(2, state(2)) is True
    ckpt.close()


def test_a_new_run_keeps_what_it_wrote_below_the_steps_of_an_older_one(place: Path) -> None:
    ckpt = saved(place, 7)
    ckpt.flush()
    ckpt.close()
    shard, _ = storage.read(place, 7, 0)
    for attempt, step in (("old", 90), ("old", 100), ("new", 10), ("new", 20)):
        about = type(shard.about)(place.name, 0, 1, step)
        storage.write(place, type(shard)(about, shard.tree, shard.names, shard.tensors), attempt)
        storage.prune(place, 1, attempt, -1)
    assert [step for step, _, _ in storage.whole_steps(place)] == [20, 100]


def test_who_starts_anew_although_something_was_saved_says_so(place: Path) -> None:
    (place / "step-00000010").mkdir(parents=True)
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.load(state(0)) is None
    assert "storage has no whole step (step-00000010)" in ckpt.troubles["load"]
    ckpt.close()


def test_too_little_memory_is_reported_and_survived(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1, keeper_options=("--memory-bytes", "1000"))
    assert ckpt.save(1, state(1)) is False
    assert "do not fit: 0 of 1000 are in use" in ckpt.troubles["save"]
    ckpt.close()


def test_a_rank_killed_inside_save_leaves_the_step_before(place: Path) -> None:
    saved(place, 1).close()
    rank = Keeper(place.name, place, 0, 1)
    rank.attach()
    _, pages = rank.reserve(5000, 1.0)
    pages.map[:100] = b"x" * 100
    rank.close()  # what the kernel does for a killed process: the buffer was never handed over
    assert loaded(place)[0] == 1


def test_a_second_job_of_the_same_name_is_refused(place: Path) -> None:
    first = saved(place, 1)
    with pytest.raises(CheckpointError, match=f"rank 0 on node0: .* already runs here as process {os.getpid()}"):
        Checkpoint(place, replicas=1)
    assert first.save(2, state(2))
    first.close()
    assert loaded(place)[0] == 2


def test_a_child_that_outlives_its_rank_does_not_keep_its_place(place: Path, tmp_path: Path) -> None:
    """A worker that loads data holds all sockets of the rank that forked it open."""
    result = tmp_path / "child"
    crew.start(orphan.leave_a_child, 0, 1, 0, str(place), str(result)).join()
    try:
        assert loaded(place)[::2] == (1, "own memory")
    finally:
        crew.end_pid(int(result.read_text()))


def test_a_damaged_index_is_reported_and_the_step_before_is_loaded(place: Path) -> None:
    ckpt = saved(place, 4)
    assert ckpt.flush() == [4]
    assert ckpt.save(8, state(8))
    ckpt.flush()
    ckpt.close()
    crew.end_keeper(place, place.name, 0)
    index = rank_folder(place, 8, 0) / "holdfast.index"
    raw = bytearray(index.read_bytes())
    raw[20] ^= 1
    index.write_bytes(raw)
    again = Checkpoint(place, replicas=1)
    assert again.load(state(0)) == 4
    (sentence,) = [words for about, words in again.troubles.items() if about.startswith("storage ")]
    assert sentence.startswith(f"{index}: the index is damaged: {len(raw)} bytes with hash ")
    assert f"expected {raw[:16].hex()}; this shard counts as missing" in sentence
    again.close()
    index.write_bytes(b"")
    assert [step for step, _, _ in storage.whole_steps(place)] == [4]


def test_a_tier_that_yields_no_number_is_not_asked_again_and_neither_is_what_was_saved_since(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(2, state(2.0))
    assert ckpt.flush() == [2]
    assert ckpt.save(4, {"weights": torch.full((1000,), float("nan")), "note": ""})
    ckpt.flush()
    ckpt.close()
    seen = []
    for _ in range(3):
        ckpt, into = Checkpoint(place, replicas=1), {"weights": torch.zeros(1000), "note": ""}
        step = ckpt.load(into) or 0
        seen.append((step, ckpt.loaded_from))
        guard = Guard(torch.nn.Linear(1, 1), vote_every=0, checksum_every=0, checkpoint=ckpt)
        guard.step(step + 1, loss=into["weights"].sum())
        assert ckpt.save(step + 1, into)
        ckpt.flush()
        ckpt.close()
    assert seen == [(4, "own memory"), (4, "storage"), (2, "storage")]


def test_a_rank_that_joins_late_takes_nothing_from_the_others_of_its_node(place: Path) -> None:
    """Where a keeper had to be started again, each rank joins at its own next save."""
    order = {"attempt": "run", "addresses": {}, "partners": [], "counter": "node0", "step": 4}
    ranks = [Keeper(place.name, place, rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.attach()
        rank.join(order)
        number, _ = rank.reserve(5000, 1.0)
        rank.seal({"buffer": number, "size": 5000, "step": 5, "attempt": "run", "store": False})
        held = rank.status()["held"]
    assert [row[:2] for row in held] == [[0, 5], [1, 5]]
    for rank in ranks:
        rank.close()


def in_storage_of_two_ranks(place: Path, *owners: int) -> None:
    ckpt = saved(place, 7)
    ckpt.flush()
    ckpt.close()
    crew.end_keeper(place, place.name, 0)
    shard, attempt = storage.read(place, 7, 0)
    for owner in owners:
        about = type(shard.about)(place.name, owner, 2, 8)
        storage.write(place, type(shard)(about, shard.tree, shard.names, shard.tensors), attempt)


def test_a_step_of_two_ranks_is_loaded_by_one(place: Path) -> None:
    in_storage_of_two_ranks(place, 0, 1)
    step, into, source = loaded(place)
    assert (step, source) == (8, "storage, saved by 2 ranks")
    assert torch.equal(into["weights"], torch.full((1000,), 7.0))


def test_a_step_of_two_ranks_of_which_one_is_missing_is_not_loaded(place: Path) -> None:
    in_storage_of_two_ranks(place, 1)
    assert loaded(place)[0] == 7


def test_remains_in_memory_of_another_world_are_not_thrown_away(place: Path) -> None:
    """One of two ranks came back, without its partner's copy: a new start would overwrite the other half."""
    rank = Keeper(place.name, place, 0, 2)
    rank.attach()
    number, _ = rank.reserve(5000, 1.0)
    rank.seal({"buffer": number, "size": 5000, "step": 3, "attempt": "run", "store": False})
    rank.status()
    rank.close()
    with pytest.raises(LoadRefused, match="2 ranks saved step 3; the shards of ranks 1 are in no keeper"):
        loaded(place)


def test_a_loader_whose_position_is_not_saved_is_reported_at_save_and_at_load(place: Path) -> None:
    ckpt = Checkpoint(place, replicas=1)
    loader = iter(DataLoader(torch.arange(8), shuffle=True))  # type: ignore[arg-type]
    next(loader)
    assert ckpt.save(1, state(1))
    assert "the state does not hold the position" in ckpt.troubles["data"]
    ckpt.close()
    del loader
    again = Checkpoint(place, replicas=1)
    assert again.load(state(0)) == 1
    assert "reported when the step was saved: a DataLoader is in use" in again.troubles["data"]
    again.close()


def test_parts_that_differ_are_named_and_nothing_is_touched(place: Path) -> None:
    saved(place, 1).close()
    ckpt = Checkpoint(place, replicas=1)
    into = {"weights": torch.zeros(1000), "scaler": 1}
    with pytest.raises(
        CheckpointError, match="the checkpoint holds weights, note; the state to load has weights, scaler"
    ):
        ckpt.load(into)
    assert not into["weights"].any()
    ckpt.close()


@pytest.mark.parametrize("other", [torch.zeros(7, 1000, dtype=torch.int64), torch.zeros(1000)])
def test_a_tensor_of_another_shape_or_kind_is_refused_and_not_stretched(place: Path, other: torch.Tensor) -> None:
    saved(place, 1).close()
    ckpt = Checkpoint(place, replicas=1)
    with pytest.raises(CheckpointError, match=r"weights: the checkpoint holds torch.int64 of \(1000,\)"):
        ckpt.load({"weights": other, "note": ""})
    ckpt.close()


def test_no_keeper_and_no_way_to_start_one_is_reported(place: Path) -> None:
    lonely = Keeper("other", place, 0, 1)
    with pytest.raises(WireError, match="no keeper is connected"):
        lonely.status()


def test_the_example_really_trains(place: Path) -> None:
    run = crew.Run(place, 80, world=1, options=("--width", "64", "--batch", "16", "--every-steps", "1000"))
    run.start()
    run.finish()
    losses = [row["loss"] for row in run.journal() if "loss" in row]
    assert losses[0] > 5.3, "who guesses has a loss of ln 256"
    assert losses[-1] < 5.3
