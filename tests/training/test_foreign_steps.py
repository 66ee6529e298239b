"""Steps that an older version, another program or damage left: loaded, or refused with a reason."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from holdfast.training import Checkpoint, LoadRefused, Position, Random
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack
from holdfast.training.checkpoint.restore import CheckpointError, prepared, put, snapshot
from holdfast.training.checkpoint.saved_position import checked_position, generator_states
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import INDEX, rank_folder
from tests.counts import draws

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.sampled_from(["", "dict", "list", "tensor", "shard", "array", "int", "size", "began", "torch"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["epoch", "own"]), inner, max_size=2),
    max_leaves=6,
)
SAMPLES = list(range(8))


def loader() -> DataLoader[Any]:
    return DataLoader(SAMPLES, 2, shuffle=True)  # type: ignore[arg-type]


def state() -> dict[str, Any]:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    position = Position()
    next(iter(position.over(loader())))
    parts = {"model": model, "optimizer": optimizer, "random": Random(), "position": position}
    return {**parts, "weights": torch.ones(3), "note": "text", "rows": [1, (2, torch.zeros(2))]}


def document() -> shard.Shard:
    encoded = encode({name: snapshot(part) for name, part in state().items()})
    return shard.Shard(shard.About("job", 0, 1, 4), encoded.tree, encoded.names, encoded.tensors)


def places(tree: Any) -> list[tuple[list[Any], int]]:
    """Every place in the lists of a document."""
    if not isinstance(tree, list):
        return []
    return [(tree, at) for at in range(len(tree))] + [place for part in tree for place in places(part)]


def changed(data: st.DataObject, tree: Any) -> Any:
    tree = copy.deepcopy(tree)
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(tree)
        if not found:
            return tree
        row, at = found[data.draw(st.integers(0, len(found) - 1))]
        if data.draw(st.booleans()):
            row[at] = data.draw(VALUES)
        else:
            del row[at]
    return tree


@settings(max_examples=draws(60, 200), deadline=None)
@given(data=st.data())
def test_a_changed_document_is_loaded_or_refused_with_a_reason(data: st.DataObject) -> None:
    got = document()
    strange = shard.Shard(got.about, changed(data, got.tree), got.names, got.tensors)
    into = state()
    generators = generator_states()
    try:
        put(prepared(strange, into), into)
    except (EncodingError, CheckpointError) as error:
        assert str(error).strip() and "\n" not in str(error)
    finally:
        Random().load_state_dict({**generators, "cuda": []})


@settings(max_examples=draws(60, 200), deadline=None)
@given(data=st.data())
def test_a_changed_shard_in_memory_is_read_or_refused_with_a_reason(data: st.DataObject) -> None:
    encoded = encode({"weights": torch.ones(3), "note": "text"})
    plan = shard.plan(shard.About("job", 0, 1, 4), encoded)
    buffer = bytearray(plan.size)
    shard.write(plan, encoded, buffer)
    _, length = shard.HEAD.unpack_from(buffer)
    rows = [list(row) for row in unpack(bytes(buffer[shard.HEAD.size : shard.HEAD.size + length])).items()]
    body = pack(dict(row for row in changed(data, rows) if _is_pair(row)))
    strange = bytearray(shard.HEAD.pack(shard.MAGIC, len(body)) + body + bytes(64))
    try:
        shard.read(strange, len(strange))
    except EncodingError as error:
        assert str(error)


def _is_pair(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)


@settings(max_examples=draws(40, 100), deadline=None)
@given(data=st.data())
def test_a_changed_index_in_storage_counts_as_missing_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    storage.write(folder, document(), "run")
    path = rank_folder(folder, 4, 0) / INDEX
    rows = [list(row) for row in unpack(path.read_bytes()[16:]).items()]
    body = pack(dict(row for row in changed(data, rows) if _is_pair(row)))
    path.write_bytes(xxhash.xxh3_128_digest(body) + body)
    damaged: list[str] = []
    for step, *_ in storage.shards(folder, damaged.append):
        try:
            storage.read(folder, step, 0)
        except (EncodingError, OSError) as error:
            assert str(error)


@settings(max_examples=draws(60, 200), deadline=None)
@given(data=st.data())
def test_a_changed_position_is_loaded_or_refused_with_a_reason(data: st.DataObject) -> None:
    saved = state()["position"].state_dict()
    for name in data.draw(st.lists(st.sampled_from([*saved, "foreign"]), min_size=1, max_size=3)):
        if data.draw(st.booleans()):
            saved[name] = data.draw(VALUES)
        else:
            saved.pop(name, None)
    generators = generator_states()
    position = Position()
    into = {"position": position}
    try:
        put({"position": saved}, into)
    except CheckpointError as error:
        assert "position: " in str(error)
    finally:
        Random().load_state_dict({**generators, "cuda": []})


def older_positions() -> dict[str, dict[str, Any]]:
    """As versions before wrote them."""
    now = state()["position"].state_dict()
    middle = {name: value for name, value in now.items() if name not in ("data", "seeds")} | {"own": [], "own_now": []}
    return {"first": {"epoch": 0, "batch": 1}, "before counters": middle}


@pytest.mark.parametrize("version", older_positions())
def test_a_position_of_an_older_version_is_loaded_and_reported(version: str) -> None:
    position = Position()
    position.load_state_dict(older_positions()[version])
    assert len(list(position.over(loader()))) == 3  # of four batches
    assert "an older version of Holdfast saved this step" in position.problem


def test_a_position_of_this_version_lacks_nothing() -> None:
    assert checked_position(state()["position"].state_dict())[1] == ""


def test_a_negative_place_is_no_position() -> None:
    with pytest.raises(ValueError, match="negative"):
        Position().load_state_dict({"epoch": 0, "batch": -1})


class Strange(Position):
    """Saves what no version of Holdfast reads."""

    def state_dict(self) -> dict[str, Any]:
        return {"where": "epoch 3"}


@pytest.mark.slow
def test_a_step_that_cannot_be_loaded_leads_to_the_one_before_and_alone_to_a_reason(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    good, strange = (
        {"weights": torch.ones(3), "position": Position()},
        {"weights": torch.zeros(3), "position": Strange()},
    )
    into = {"weights": torch.zeros(3), "position": Position()}
    for steps in ((1, 2), (2,)):
        ckpt = Checkpoint(place / str(len(steps)), replicas=1, storage_every=1)
        for step in steps:
            assert ckpt.save(step, good if step == 1 else strange) and step in ckpt.flush()
        ckpt.close()
    again = Checkpoint(place / "2", replicas=1)
    assert again.load(into) == 1 and torch.equal(into["weights"], torch.ones(3))
    assert again.troubles["load"] == "step 2: position: not a position in the data"
    again.close()
    alone = Checkpoint(place / "1", replicas=1)
    with pytest.raises(
        LoadRefused, match="none of 1 saved steps could be loaded by all ranks; step 2: position: not a"
    ):
        alone.load(into)
    alone.close()


def test_random_numbers_are_unchanged_by_a_check_of_a_position() -> None:
    saved = state()["position"].state_dict()
    random.seed(3)
    checked_position(saved)
    assert random.random() == random.Random(3).random()
