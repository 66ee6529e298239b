"""A state that N ranks saved is, for M ranks, bit for bit the same state: whatever the layouts before and after.

The ranks of a mesh are made one after the other in this process, on torch's fake process group: it moves no data.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard
from torch.testing._internal.distributed.fake_pg import FakeStore

from holdfast.training import Position, Random
from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.reshard import Resharding, describe, per_rank
from holdfast.training.checkpoint.restore import decoded
from tests.counts import draws

Make = Callable[[torch.Tensor, int], torch.Tensor]
ROWS, COLUMNS = 7, 5


def _forget_meshes() -> None:
    """A cache of torch holds meshes of the rank before. What torch has for it imports a compiler, for 2 s."""
    DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache_clear()
    torch._C._clear_DTensor_sharding_propagator_cache()


@contextmanager
def rank_of(rank: int, world: int) -> Iterator[None]:
    _forget_meshes()
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def sharded(placements: list[Any], shape: Callable[[int], tuple[int, ...]]) -> Make:
    def make(full: torch.Tensor, world: int) -> torch.Tensor:
        mesh = init_device_mesh("cpu", shape(world))
        return distribute_tensor(full, mesh, placements[: mesh.ndim], src_data_rank=None)

    return make


def pairs(world: int) -> tuple[int, int]:
    return (world // 2, 2) if world % 2 == 0 else (world, 1)


LAYOUTS: dict[str, Make] = {
    "plain": lambda full, world: full.clone(),
    "fsdp": sharded([Shard(0)], lambda world: (world,)),
    "columns": sharded([Shard(1)], lambda world: (world,)),
    "hsdp": sharded([Replicate(), Shard(0)], pairs),
    "tensor parallel": sharded([Shard(0), Shard(1)], pairs),
    "replicated": sharded([Replicate()], lambda world: (world,)),
}


def state_of(values: dict[str, torch.Tensor], make: Make, world: int, number: float) -> dict[str, Any]:
    tensors = {name: make(value, world) for name, value in values.items()}
    return {"model": tensors, "optimizer": {"state": [dict(tensors), {"step": 3}], "lr": number}, "note": "text"}


def values(seed: int) -> dict[str, torch.Tensor]:
    source = torch.Generator().manual_seed(seed)
    return {
        "weight": torch.randn(ROWS, COLUMNS, generator=source),
        "half": torch.randn(3, COLUMNS, generator=source).bfloat16(),  # fewer rows than ranks: some hold none
        "scalarish": torch.randn(1, 1, generator=source),
    }


def saved_by(world: int, make: Make, seed: int = 1) -> dict[int, shard.Shard]:
    shards = {}
    for rank in range(world):
        with rank_of(rank, world):
            encoded = encode(state_of(values(seed), make, world, 0.5))
            plan = shard.plan(shard.About("job", rank, world, 9), encoded)
            buffer = bytearray(plan.size)
            shard.write(plan, encoded, buffer)
            shards[rank] = shard.read(buffer, plan.size)
    return shards


def loaded_by(rank: int, world: int, shards: dict[int, shard.Shard], state: dict[str, Any]) -> Any:
    rows = [describe(shards[one], per_rank(state)) for one in sorted(shards)]
    plan = Resharding(rows, rank, world, state)
    needed = plan.needed([])
    return decoded(plan.assemble({one: shards[one] for one in needed}), plan.like, state)


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


@settings(max_examples=draws(25, 80), deadline=None)
@given(
    before=st.sampled_from(sorted(LAYOUTS)),
    after=st.sampled_from(sorted(LAYOUTS)),
    worlds=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_any_layout_of_n_ranks_is_loaded_by_m_ranks_in_any_other(
    before: str, after: str, worlds: tuple[int, int]
) -> None:
    shards = saved_by(worlds[0], LAYOUTS[before])
    for rank in range(worlds[1]):
        with rank_of(rank, worlds[1]):
            expected = state_of(values(1), LAYOUTS[after], worlds[1], 0.5)
            into = state_of(values(2), LAYOUTS[after], worlds[1], 0.0)
            got = loaded_by(rank, worlds[1], shards, into)
            for where in (lambda one: one["model"], lambda one: one["optimizer"]["state"][0]):
                for name, tensor in where(expected).items():
                    assert type(where(got)[name]) is type(tensor), (name, before, after)
                    assert torch.equal(local(where(got)[name]), local(tensor)), name
            assert got["optimizer"]["lr"] == 0.5 and got["optimizer"]["state"][1] == {"step": 3}


@pytest.mark.parametrize("worlds", [(4, 2), (2, 4), (4, 1), (1, 4)])
def test_fsdp_with_tensor_parallelism_on_one_dimension(worlds: tuple[int, int]) -> None:
    """Rows are cut first for tensor parallelism and then for FSDP: a strided shard in torch's words."""

    def make(full: torch.Tensor, world: int) -> torch.Tensor:
        mesh = init_device_mesh("cpu", pairs(world))
        factor = mesh.size(1)
        return distribute_tensor(full, mesh, [_StridedShard(0, split_factor=factor), Shard(0)], src_data_rank=None)

    full = torch.arange(48.0).reshape(16, 3)
    shards = {}
    for rank in range(worlds[0]):
        with rank_of(rank, worlds[0]):
            encoded = encode({"model": {"weight": make(full, worlds[0])}})
            plan = shard.plan(shard.About("job", rank, worlds[0], 9), encoded)
            buffer = bytearray(plan.size)
            shard.write(plan, encoded, buffer)
            shards[rank] = shard.read(buffer, plan.size)
    for rank in range(worlds[1]):
        with rank_of(rank, worlds[1]):
            got = loaded_by(rank, worlds[1], shards, {"model": {"weight": make(torch.zeros(16, 3), worlds[1])}})
            assert torch.equal(local(got["model"]["weight"]), local(make(full, worlds[1])))


def shard_of(rank: int, world: int, state: dict[str, Any]) -> shard.Shard:
    encoded = encode({name: part.state_dict() if hasattr(part, "state_dict") else part for name, part in state.items()})
    plan = shard.plan(shard.About("job", rank, world, 9), encoded)
    buffer = bytearray(plan.size)
    shard.write(plan, encoded, buffer)
    return shard.read(buffer, plan.size)


def test_plain_tensors_that_differ_between_ranks_are_refused() -> None:
    """Nobody knows how a rank's own slice would have to be cut anew."""
    shards = {rank: shard_of(rank, 2, {"slice": torch.full((3,), float(rank))}) for rank in range(2)}
    with pytest.raises(EncodingError, match="slice: 2 ranks saved different values"):
        loaded_by(0, 1, shards, {"slice": torch.zeros(3)})


def test_buffers_that_differ_are_those_of_rank_0_as_ddp_has_them() -> None:
    models = []
    for rank in range(2):
        torch.manual_seed(0)
        models.append(torch.nn.BatchNorm1d(2))
        models[-1](torch.randn(4, 2) + rank)
    shards = {rank: shard_of(rank, 2, {"model": model}) for rank, model in enumerate(models)}
    for rank in range(3):
        got = loaded_by(rank, 3, shards, {"model": torch.nn.BatchNorm1d(2)})
        assert torch.equal(got["model"]["running_mean"], models[0].running_mean)


def test_values_that_differ_are_the_ranks_own_and_it_is_reported() -> None:
    shards = {rank: shard_of(rank, 2, {"loss": float(rank)}) for rank in range(2)}
    rows = [describe(shards[rank], set()) for rank in range(2)]
    plan = Resharding(rows, 1, 3, {"loss": 0.0})
    assert plan.assemble({1: shards[1]}).tree == ["dict", [["loss", 1.0]]]
    assert "loss: the ranks saved different values" in plan.notes[0]


def test_generators_and_positions_are_handed_over_for_every_saved_rank() -> None:
    shards = {}
    for rank in range(2):
        torch.manual_seed(rank)
        shards[rank] = shard_of(rank, 2, {"random": Random(), "position": Position()})
    rows = [describe(shards[rank], {"random", "position"}) for rank in range(2)]
    drawn = []
    for rank in range(4):
        plan = Resharding(rows, rank, 4, {"random": Random(), "position": Position()})
        Random().load_resharded(plan.states("random"), rank, 4)
        drawn.append(torch.rand(()).item())
    for rank in range(2):
        torch.manual_seed(rank)
        assert drawn[rank] == torch.rand(()).item()
    assert len(set(drawn)) == 4


def test_a_shard_that_is_missing_is_noticed() -> None:
    shards = saved_by(3, LAYOUTS["fsdp"])
    with rank_of(0, 2):
        into = state_of(values(2), LAYOUTS["fsdp"], 2, 0.0)
        rows = [describe(shards[rank], set()) for rank in range(3)]
        plan = Resharding(rows, 0, 2, into)
        with pytest.raises(EncodingError, match="the saved shards hold"):
            plan.assemble({0: shards[0]})


def test_a_rank_reads_only_the_shards_it_needs() -> None:
    shards = saved_by(4, LAYOUTS["fsdp"])
    rows = [describe(shards[rank], set()) for rank in range(4)]
    with rank_of(0, 4):
        into = state_of(values(2), LAYOUTS["fsdp"], 4, 0.0)
        assert Resharding(rows, 0, 4, into).needed([]) == {0}
    with rank_of(0, 2):
        into = state_of(values(2), LAYOUTS["fsdp"], 2, 0.0)
        assert Resharding(rows, 0, 2, into).needed([]) == {0, 1}
