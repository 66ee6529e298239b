"""Resume with another number of ranks: a table of 1, 2, 3, 4 and 8 ranks, DDP, FSDP2 and HSDP, memory and storage.

    python bench/reshard.py

Each cell: N ranks encode and write their shards (into a buffer as a keeper holds it, or into a storage step), M ranks
read what overlaps with theirs and cut it anew; parameters and optimizer must be bit-equal to those that M ranks would
have. The ranks are made one after the other on torch's fake process group, which moves no data: what is tested is the
path from the state to bytes and back. `tests/training/test_elastic.py` does so with processes, keepers and storage.
"""

# mypy: disable-error-code="no-untyped-call"

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from measure import RESULTS
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import _clear_sharding_prop_cache
from torch.testing._internal.distributed.fake_pg import FakeStore

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.reshard import Resharding, describe, per_rank
from holdfast.training.checkpoint.restore import decoded
from holdfast.training.checkpoint.storage import storage

WORLDS = (1, 2, 3, 4, 8)
LAYOUTS = ("ddp", "fsdp2", "hsdp")
SHAPES = {"weight": (19, 5), "bias": (7,), "narrow": (3, 4)}  # none divides by all worlds; some ranks hold nothing
STEP = 9


@contextmanager
def rank_of(rank: int, world: int) -> Iterator[None]:
    _clear_sharding_prop_cache()  # it holds meshes of the rank before
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def laid_out(full: torch.Tensor, layout: str, world: int) -> torch.Tensor:
    if layout == "ddp":
        return full.clone()
    two = layout == "hsdp" and world % 2 == 0
    mesh = init_device_mesh("cpu", (world // 2, 2) if two else (world,))
    return distribute_tensor(full, mesh, [Replicate(), Shard(0)] if two else [Shard(0)], src_data_rank=None)


def state_of(seed: int, layout: str, world: int) -> dict[str, Any]:
    source = torch.Generator().manual_seed(seed)

    def part() -> dict[str, torch.Tensor]:
        return {name: laid_out(torch.randn(shape, generator=source), layout, world) for name, shape in SHAPES.items()}

    return {"model": part(), "optimizer": {"exp_avg": part(), "exp_avg_sq": part(), "step": seed}}


def saved(layout: str, world: int, folder: Path) -> dict[str, Callable[[int], shard.Shard]]:
    """How to read a rank's shard back, from memory and from storage."""
    buffers: dict[int, tuple[bytearray, int]] = {}
    for rank in range(world):
        with rank_of(rank, world):
            encoded = encode(state_of(1, layout, world))
            plan = shard.plan(shard.About("bench", rank, world, STEP), encoded)
            buffers[rank] = (bytearray(plan.size), plan.size)
            shard.write(plan, encoded, buffers[rank][0])
            storage.write(folder, shard.read(*buffers[rank]), "run")
    return {
        "memory": lambda rank: shard.read(*buffers[rank]),
        "storage": lambda rank: storage.read(folder, STEP, rank)[0],
    }


def local(value: Any) -> Any:
    return value.to_local() if isinstance(value, DTensor) else value


def same(got: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(same(got[name], part) for name, part in expected.items())
    if isinstance(expected, torch.Tensor):
        return type(got) is type(expected) and torch.equal(local(got), local(expected))
    return bool(got == expected)


def is_equal(read: Callable[[int], shard.Shard], before: int, after: int, layout: str) -> bool:
    shards = {rank: read(rank) for rank in range(before)}
    for rank in range(after):
        with rank_of(rank, after):
            into = state_of(2, layout, after)
            rows = [describe(shards[one], per_rank(into)) for one in sorted(shards)]
            plan = Resharding(rows, rank, after, into)
            needed = plan.needed([])
            got = decoded(plan.assemble({one: shards[one] for one in needed}), plan.like, into)
            if not same(got, state_of(1, layout, after)):
                return False
    return True


def main() -> None:
    table: dict[str, dict[str, list[list[int]]]] = {layout: {"memory": [], "storage": []} for layout in LAYOUTS}
    cells = equal = 0
    for layout in LAYOUTS:
        for before in WORLDS:
            with tempfile.TemporaryDirectory() as folder:
                for tier, read in saved(layout, before, Path(folder)).items():
                    row = [int(is_equal(read, before, after, layout)) for after in WORLDS]
                    table[layout][tier].append(row)
                    cells, equal = cells + len(row), equal + sum(row)
                    print(layout, tier, before, "->", dict(zip(WORLDS, row, strict=True)), flush=True)
    result = {"ranks": WORLDS, "cells": cells, "bit_equal": equal, "rows_are_saved_by_columns_loaded_by": table}
    (RESULTS / "reshard.json").write_text(json.dumps(result) + "\n")
    print(f"{equal} of {cells} bit-equal")


if __name__ == "__main__":
    main()
