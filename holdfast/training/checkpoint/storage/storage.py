"""Steps in storage, in the format of torch.distributed.checkpoint: the whole step, and each rank's shard.

    dir/step-00001000/.metadata                              the whole step for torch.distributed.checkpoint
    dir/step-00001000/rank-00003/.metadata  __0_0.distcp     this rank's shard for torch.distributed.checkpoint
    dir/step-00001000/rank-00003/holdfast.index              offset and hash of each part; written last

Holdfast reads its own index, because torch's is a pickle. A step is whole when the index of every rank exists.
"""

import io
import logging
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from itertools import chain, count
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.storage import WriteResult

from holdfast.training.checkpoint.candidates import StepCandidate
from holdfast.training.checkpoint.format.encoding import DTYPES
from holdfast.training.checkpoint.format.message import EncodingError, pack, unpack
from holdfast.training.checkpoint.format.shard import ALIGN, About, Shard
from holdfast.training.checkpoint.storage.metadata import name_of, values_of, whole_step
from holdfast.training.checkpoint.storage.target import (
    INDEX,
    METADATA,
    StorageTarget,
    rank_name,
    step_name,
    target_of,
    write_synced,
)
from holdfast.training.checkpoint.untrusted_steps import noted, trusted

LOG = logging.getLogger(__name__)
Place = str | Path | StorageTarget  # a folder or an fsspec URL
DESCRIPTION = "holdfast"  # name of the part that holds the values other than tensors
STEP = re.compile(r"step-(\d+)")
RANK = re.compile(r"rank-\d+")


def write(place: Place, shard: Shard, attempt: str) -> str:
    """Writes one rank's shard. It counts only once its index exists, which is written last and atomically."""
    target, about = target_of(place), shard.about
    name = rank_name(about.step, about.rank)
    try:
        with target.drafting(name) as draft:
            parts, places, values = _write_parts(draft, shard)
            about_fields = [about.job, about.rank, about.world, about.step, attempt]
            texts = {"names": shard.names, "notes": list(shard.notes)}
            body = pack(
                {"about": about_fields, "tree": shard.tree, **texts, "parts": parts, "places": places, "values": values}
            )
            write_synced(draft / INDEX, xxhash.xxh3_128_digest(body) + body)
            target.publish(draft, name)
        _complete(target, about.step, attempt)
    except RuntimeError as error:  # on a full file system, torch's writer reports positions in a file
        size, free = sum(tensor.nbytes for tensor in shard.tensors), target.free_bytes()
        if free is not None and free < size:
            raise OSError(f"{target} is full: {size} bytes do not fit") from error
        raise
    return name


def _complete(target: StorageTarget, step: int, attempt: str) -> None:
    """Writes torch's index of the whole step once every rank's shard exists. The last writer does this."""
    names = [name for name in target.names(f"{step_name(step)}/rank-*/{INDEX}") if RANK.fullmatch(name.split("/")[1])]
    try:
        first = checked_index(target.read(names[0]))
        if len(names) != first["about"][2]:
            return
        indexes = [first, *(checked_index(target.read(name)) for name in names[1:])]
        if {index["about"][4] for index in indexes} == {attempt}:
            target.write(f"{step_name(step)}/{METADATA}", whole_step(indexes))
    except (OSError, KeyError, TypeError, ValueError, IndexError) as error:
        LOG.warning("step %d has no index for torch: %s", step, error)


def _write_parts(draft: Path, shard: Shard) -> tuple[list[str], list[list[Any]], dict[str, list[Any]]]:
    """Parts written by torch, and the place of each tensor (file, offset, length and hash of its bytes) and value."""
    names = _unique(shard.names)
    state: dict[str, Any] = dict(zip(names, shard.tensors, strict=True))
    values = {name_of(path): value for path, value in values_of(shard.tree)}
    values = {name: value for name, value in values.items() if name not in {*names, DESCRIPTION}}
    state |= values
    state[DESCRIPTION] = torch.frombuffer(bytearray(pack(shard.tree)), dtype=torch.uint8)
    planner = DefaultSavePlanner(flatten_state_dict=False)
    planner.set_up_planner(state, is_coordinator=True)
    plans, metadata = planner.create_global_plan([planner.create_local_plan()])
    writer = FileSystemWriter(draft)
    writer.set_up_storage_writer(is_coordinator=True)
    plan = planner.finish_plan(writer.prepare_global_plan([writer.prepare_local_plan(plans[0])])[0])
    results: list[WriteResult] = writer.write_data(plan, planner).wait()
    writer.finish(metadata, [results])
    where = {result.index.fqn: result.storage_data for result in results}
    found = {name: [where[name].relative_path, where[name].offset, where[name].length] for name in values}
    return names, [_place(draft, where[name], state[name]) for name in names], found


def _place(draft: Path, place: Any, tensor: torch.Tensor) -> list[Any]:
    with open(draft / place.relative_path, "rb") as file:
        file.seek(place.offset)
        raw = file.read(place.length)
    row = [place.relative_path, place.offset, place.length, xxhash.xxh3_128_hexdigest(raw)]
    begin = _data_offset(raw, tensor.nbytes)
    return [*row, begin, str(tensor.dtype), list(tensor.shape)] if begin is not None else row


def _data_offset(raw: bytes, size: int) -> int | None:
    """Offset of the tensor's bytes in the output of torch.save, so that a load need not unpack it."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        found = [entry for entry in archive.infolist() if entry.filename.endswith("/data/0")]
    if len(found) != 1 or found[0].file_size != size or found[0].compress_type != zipfile.ZIP_STORED:
        return None
    head = found[0].header_offset
    name, extra = struct.unpack_from("<HH", raw, head + 26)
    begin = int(head + 30 + name + extra)
    return begin if begin % ALIGN == 0 else None


def _unique(names: list[str]) -> list[str]:
    """Makes names unique: two paths of a tree may read the same (1 and "1"), and a file has one entry per name."""
    taken = {DESCRIPTION}
    unique = []
    for name in names:
        numbered = (f"{name}#{number}" for number in count(2))
        unique.append(next(one for one in chain([name], numbered) if one not in taken))
        taken.add(unique[-1])
    return unique


def read(place: Place, step: int, rank: int) -> tuple[Shard, str]:
    """One rank's shard and the run that saved it. Damaged or foreign files raise EncodingError."""
    target, name = target_of(place), rank_name(step, rank)
    try:
        with target.fetched(name) as folder:
            index = checked_index((folder / INDEX).read_bytes())
            job, owner, world, of_step, attempt = index["about"]
            tensors = [_read_tensor(folder, *row) for row in index["places"]]
        notes = tuple(map(str, index.get("notes", ())))
        about = About(job, owner, world, of_step)
        return Shard(about, index["tree"], index["names"], tensors, notes, owned=True), attempt
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        raise EncodingError(f"{target}/{name}: {error}") from error


def read_index(path: Path) -> dict[str, Any]:
    return checked_index(path.read_bytes())


def checked_index(raw: bytes) -> dict[str, Any]:
    found, expected = xxhash.xxh3_128_hexdigest(raw[16:]), raw[:16].hex()
    if found != expected:
        raise EncodingError(f"the index is damaged: {len(raw)} bytes with hash {found}, expected {expected or 'one'}")
    index = unpack(raw[16:])
    if not isinstance(index, dict):
        raise EncodingError("not an index")
    return index


def writer(place: Place, step: int, rank: int) -> str:
    """The run that wrote the shard of this rank and step; "" if it is missing or damaged."""
    try:
        index = checked_index(target_of(place).read(f"{rank_name(step, rank)}/{INDEX}"))
        _, _, _, _, attempt = index["about"]
        return str(attempt)
    except (OSError, KeyError, TypeError, ValueError):
        return ""


def _read_tensor(folder: Path, name: str, offset: int, length: int, digest: str, *where: Any) -> torch.Tensor:
    if "/" in name or name.startswith("..") or length < 0:
        raise EncodingError(f"not a file of this checkpoint: {name[:60]}")
    with open(folder / name, "rb", buffering=0) as file:
        if length > os.fstat(file.fileno()).st_size:
            raise EncodingError(f"{name} at {offset}: the file is shorter than its index says")
        raw: Any = np.empty(length, dtype=np.uint8)
        file.seek(offset)
        view, got = memoryview(raw), 0
        while got < length and (count := file.readinto(view[got:])):
            got += count
    if got < length or xxhash.xxh3_128_hexdigest(raw) != digest:
        raise EncodingError(f"{name} at {offset}: the bytes differ from those that were saved")
    if where:
        begin, dtype, shape = where
        kind = DTYPES[dtype]
        return torch.from_numpy(raw)[begin : begin + prod(shape) * kind.itemsize].view(kind).view(shape)
    tensor = torch.load(io.BytesIO(raw.data), map_location="cpu", weights_only=True)
    if not isinstance(tensor, torch.Tensor):
        raise EncodingError(f"{name} at {offset}: not a tensor")
    return tensor


Damaged = Callable[[str], None]  # called with each index that cannot be read


def whole_steps(place: Place) -> list[tuple[int, str, int]]:
    """Step, run and world of every step for which the index of each rank exists, all of one run."""
    return [(step, run, world) for step, run, world, ranks in shards(place, LOG.warning) if len(ranks) == world]


def shards(place: Place, damaged: Damaged) -> list[tuple[int, str, int, list[int]]]:
    """Step, run, world and the ranks whose shard exists."""
    found: dict[tuple[int, str, int], list[int]] = {}
    for _, rank, world, step, attempt in _descriptions(target_of(place), damaged):
        found.setdefault((step, attempt, world), []).append(rank)
    return sorted((*key, ranks) for key, ranks in found.items())


def _descriptions(target: StorageTarget, damaged: Damaged) -> Iterator[tuple[str, int, int, int, str]]:
    """Job, rank, world, step and run of every shard."""
    for name in target.names(f"step-*/rank-*/{INDEX}"):
        if not RANK.fullmatch(name.split("/")[1]):
            continue  # a draft
        try:
            job, rank, world, step, attempt = checked_index(target.read(name))["about"]
            if not (isinstance(job, str) and isinstance(attempt, str) and isinstance(world, int)):
                raise EncodingError("the index does not say whose it is")
            if name != f"{rank_name(step, rank)}/{INDEX}":
                raise EncodingError(f"the index is of step {step} and rank {rank}, expected that of its folder")
            yield job, rank, world, step, attempt
        except FileNotFoundError:
            continue  # it is being replaced
        except (OSError, KeyError, TypeError, ValueError) as error:
            damaged(f"{target}/{name}: {error}; this shard counts as missing")


def prune(
    place: Place, keep: int, attempt: str, loaded: int, keep_every: int = 0, job_folder: Path | None = None
) -> None:
    """Removes steps older than the newest `keep` whole steps of this run and of its predecessors. Multiples of
    `keep_every` stay for ever.

    Steps of earlier runs count only up to the one this run was loaded from, and below its own. An earlier run may have
    come further before its steps were found untrusted or unreadable; it must not cost this run its own steps or the one
    it started from. A run that started from the beginning has no predecessor. Untrusted steps never count. Steps of
    other jobs stay.
    """
    target = target_of(place)
    marked = noted(job_folder or Path(str(target)))
    descriptions = list(_descriptions(target, LOG.warning))
    jobs = {job for job, _, _, _, run in descriptions if run == attempt}
    others = {step for job, _, _, step, _ in descriptions if job not in jobs}
    found: dict[tuple[int, str, int], set[int]] = {}
    for job, rank, world, step, run in descriptions:
        if job in jobs:
            found.setdefault((step, run, world), set()).add(rank)
    rows = trusted((StepCandidate(*key, frozenset(), frozenset(ranks)) for key, ranks in found.items()), marked)
    own = {row.step for row in rows if row.attempt == attempt}
    earlier = {row.step for row in rows if row.step <= loaded and row.step < min(own, default=loaded + 1)}
    steps = sorted(own | earlier)
    if len(steps) < keep:
        return
    for name in target.names("step-*"):
        match = STEP.fullmatch(name)
        step = int(match[1]) if match else steps[-keep]
        if step < steps[-keep] and step not in others and not (keep_every and step % keep_every == 0):
            target.remove(name)
