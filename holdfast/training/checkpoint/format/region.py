"""The part of a distributed tensor that a rank holds, as runs of indices along each dimension. Pure except for the
mesh."""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import torch
from torch.distributed.tensor import DTensor

Runs = list[list[int]]  # first index and count, in the order of the local tensor
Region = list[Runs]  # one per dimension


def whole(shape: Sequence[int]) -> Region:
    return [[[0, size]] for size in shape]


def region_of(tensor: DTensor) -> Region | None:
    """The region; None if the layout does not consist of shards and replicas, or does not match the mesh."""
    mesh = tensor.device_mesh
    at = mesh.get_coordinate()
    splits: list[list[tuple[int, int, int]]] = [[] for _ in tensor.shape]
    for dimension, placement in enumerate(tensor.placements):
        if placement.is_partial():
            return None
        if hasattr(placement, "dim") and at is not None:
            factor = getattr(placement, "split_factor", 1)
            splits[placement.dim].append((mesh.size(dimension), at[dimension], factor))
    region = [local_runs(size, split) for size, split in zip(tensor.shape, splits, strict=True)]
    return region if at is not None and shape_of(region) == tuple(tensor.to_local().shape) else None


def local_runs(size: int, splits: Sequence[tuple[int, int, int]]) -> Runs:
    """Indices that remain after each split: number of chunks, the chunk taken, and for strided shards the number of
    pieces that are split one by one."""
    indices = torch.arange(size)
    for count, at, factor in splits:
        step = -(-len(indices) // factor) or 1
        pieces = [indices[start : start + step] for start in range(0, len(indices), step)]
        indices = torch.cat([indices[:0], *(_chunk(piece, count, at) for piece in pieces)])
    return _runs(indices.tolist())


def _chunk(indices: torch.Tensor, count: int, at: int) -> torch.Tensor:
    step = -(-len(indices) // count)
    return indices[at * step : (at + 1) * step]


def _runs(indices: Sequence[int]) -> Runs:
    runs: Runs = []
    for index in indices:
        if runs and runs[-1][0] + runs[-1][1] == index:
            runs[-1][1] += 1
        else:
            runs.append([index, 1])
    return runs


def shape_of(region: Region) -> tuple[int, ...]:
    return tuple(sum(count for _, count in runs) for runs in region)


def copy_overlap(out: torch.Tensor, wanted: Region, piece: torch.Tensor, held: Region) -> None:
    """Copies the common part of a piece into the tensor that is being assembled."""
    for boxes in product(*overlaps(wanted, held)):
        there = tuple(slice(into, into + count) for into, _, count in boxes)
        here = tuple(slice(source, source + count) for _, source, count in boxes)
        out[there].copy_(piece[here])


def overlap_size(wanted: Region, held: Region) -> int:
    return prod(sum(count for _, _, count in runs) for runs in overlaps(wanted, held))


def overlaps(wanted: Region, held: Region) -> list[list[tuple[int, int, int]]]:
    """For each dimension: offset in the wanted tensor, offset in the piece, and count of the common indices."""
    return [_common(want, have) for want, have in zip(wanted, held, strict=True)]


def _common(wanted: Runs, held: Runs) -> list[tuple[int, int, int]]:
    found = []
    into = 0
    for want, count in wanted:
        source = 0
        for have, there in held:
            begin, end = max(want, have), min(want + count, have + there)
            if begin < end:
                found.append((into + begin - want, source + begin - have, end - begin))
            source += there
        into += count
    return found


def checked(region: Any, shape: Any) -> Region:
    """A decoded region. Raises ValueError."""
    if not isinstance(region, list) or len(region) != len(shape):
        raise ValueError("not a region of a tensor")
    return [[[int(start), int(count)] for start, count in runs] for runs in region]
