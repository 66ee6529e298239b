"""One rank's state as one byte range: a header, then the tensors, each aligned to 64.

The header names job, rank and step; one xxhash covers all bytes.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from holdfast.training.checkpoint.format.encoding import DTYPES, Encoded
from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack

MAGIC = b"HOLDFAST"
HEAD = struct.Struct("<8sQ")
ALIGN = 64
LARGEST_DESCRIPTION = 1 << 28

Buffer = Any  # any object with the buffer interface: an mmap, a memoryview


@dataclass(frozen=True, slots=True)
class About:
    """Identity of a shard."""

    job: str
    rank: int
    world: int
    step: int


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """Offsets of all parts, computed before a byte is copied."""

    head: bytes
    offsets: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Shard:
    about: About
    tree: Any
    names: list[str]
    tensors: list[torch.Tensor]  # views of the buffer: copy them if they must outlive it
    notes: tuple[str, ...] = ()  # missing parts of the state, logged when it is loaded
    owned: bool = False  # only this process has the tensors, so it may keep them


def plan(about: About, encoded: Encoded, notes: Sequence[str] = ()) -> ShardLayout:
    rows: list[list[Any]] = []
    place = 0
    for tensor in encoded.tensors:
        place = _aligned(place)
        rows.append([place, str(tensor.dtype), list(tensor.shape)])
        place += tensor.numel() * tensor.element_size()
    about_fields = [about.job, about.rank, about.world, about.step]
    texts = {"names": encoded.names, "notes": list(notes)}
    description = pack({"about": about_fields, "tree": encoded.tree, **texts, "tensors": rows})
    start = _aligned(HEAD.size + len(description))
    head = HEAD.pack(MAGIC, len(description)) + description
    return ShardLayout(head, tuple(start + row[0] for row in rows), start + place)


def write(plan: ShardLayout, encoded: Encoded, buffer: Buffer) -> None:
    """Copies everything into the buffer; on GPUs this reads device memory."""
    whole = torch.frombuffer(buffer, dtype=torch.uint8)
    buffer[: len(plan.head)] = plan.head
    first = min(plan.offsets, default=plan.size)
    whole[len(plan.head) : first].zero_()
    for tensor, offset in zip(encoded.tensors, plan.offsets, strict=True):
        _view(whole, offset, tensor.dtype, tensor.shape).copy_(tensor)


def read(buffer: Buffer, size: int) -> Shard:
    """The shard in these bytes. Any bytes give a shard or raise EncodingError."""
    view = memoryview(buffer)[:size]
    if len(view) < HEAD.size:
        raise EncodingError("too short for a shard")
    magic, length = HEAD.unpack_from(view)
    if magic != MAGIC or length > min(len(view) - HEAD.size, LARGEST_DESCRIPTION):
        raise EncodingError("not a shard")
    try:
        description = unpack(view[HEAD.size : HEAD.size + length])
        job, rank, world, step = description["about"]
        start = _aligned(HEAD.size + length)
        whole = torch.frombuffer(buffer, dtype=torch.uint8, count=size)
        tensors = [_view(whole, start + at, DTYPES[dtype], shape) for at, dtype, shape in description["tensors"]]
        notes = tuple(map(str, description.get("notes", ())))
        return Shard(About(job, rank, world, step), description["tree"], description["names"], tensors, notes)
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        raise EncodingError(f"not a shard: {error}") from error


def _aligned(place: int) -> int:
    return -(-place // ALIGN) * ALIGN


def _view(whole: torch.Tensor, offset: int, dtype: torch.dtype, shape: Any) -> torch.Tensor:
    shape = torch.Size(shape)
    nbytes = shape.numel() * dtype.itemsize
    if offset < 0 or offset + nbytes > whole.numel() or any(length < 0 for length in shape):
        raise EncodingError(f"a tensor at {offset} of {nbytes} bytes does not fit into {whole.numel()}")
    return whole[offset : offset + nbytes].view(dtype).view(shape)
