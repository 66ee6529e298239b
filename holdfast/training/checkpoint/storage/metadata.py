"""torch's index of a whole step, merged from the indexes of its ranks; `dcp.load(state, checkpoint_id=STEP)` reads it.

Distributed tensors appear with their full shape, replicated ones once. Values of a single rank (generators, positions)
appear as `rank-00003.NAME`.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

from holdfast.training.checkpoint.format.encoding import DTYPES, Tree, decode, has_tensors, layouts
from holdfast.training.checkpoint.format.message import EncodingError

Index = Mapping[str, Any]
Path = tuple[str | int, ...]  # keys and indices from the top of the state


def values_of(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Values other than tensors, with their paths: lists and tuples without tensors are one value, as in torch."""
    kind, content = tree if isinstance(tree, list) else ("", ())
    if kind == "dict" or (kind in ("list", "tuple") and has_tensors(tree)):
        for key, part in content if kind == "dict" else enumerate(content):
            yield from values_of(part, (*path, key))
    elif not has_tensors(tree):
        yield path, decode(tree, ())


def name_of(path: Path) -> str:
    return ".".join(map(str, path))


def _tensor_paths(tree: Tree, path: Path = ()) -> Iterator[Path]:
    """Paths in the order of the tensors' indices."""
    kind, content = tree if isinstance(tree, list) else ("", ())
    if kind == "dict" or kind in ("list", "tuple", "size"):
        for key, part in content if kind == "dict" else enumerate(content):
            yield from _tensor_paths(part, (*path, key))
    elif has_tensors(tree):
        yield path


def whole_step(indexes: Sequence[Index]) -> bytes:
    """`.metadata` of the step, from the indexes of all ranks in rank order."""
    metadata = Metadata(state_dict_metadata={}, storage_data={})
    for name, held in sorted(_by_name(indexes).items()):
        regions = {str(region): (rank, row, region) for rank, row, _, region in reversed(held)}
        shape = held[0][2]
        if held[0][3] is None and len({row[3] for _, row, _, _ in held}) > 1:
            for rank, row, own, _ in held:
                _add(metadata, f"rank-{rank:05}.{name}", own, [(rank, row, None)])
        else:
            _add(metadata, name, shape, list(regions.values()))
    for name, (file, offset, length) in indexes[0].get("values", {}).items():
        metadata.state_dict_metadata[name] = BytesStorageMetadata()
        metadata.storage_data[MetadataIndex(name)] = _StorageInfo(f"rank-00000/{file}", offset, length)
    tree = indexes[0]["tree"]
    paths = {name_of(path): path for path in (*_tensor_paths(tree), *(path for path, _ in values_of(tree)))}
    metadata.planner_data = {name: paths.get(name, (name,)) for name in metadata.state_dict_metadata}
    return pickle.dumps(metadata)


def _by_name(indexes: Sequence[Index]) -> dict[str, list[tuple[int, list[Any], list[int], Any]]]:
    """For each tensor: rank, place in its file, full shape and region of all holders."""
    found: dict[str, list[tuple[int, list[Any], list[int], Any]]] = {}
    for rank, index in enumerate(indexes):
        layout = layouts(index["tree"])
        for number, (name, row) in enumerate(zip(index["parts"], index["places"], strict=True)):
            if len(row) < 7:
                raise EncodingError(f"{name}: its place is not known")
            shape, region = layout.get(number, (row[6], None))
            found.setdefault(name, []).append((rank, row, shape, region))
    return found


def _add(metadata: Metadata, name: str, shape: Sequence[int], pieces: Sequence[tuple[int, list[Any], Any]]) -> None:
    chunks: list[ChunkStorageMetadata] = []
    for rank, row, region in pieces:
        if region is not None and any(len(runs) > 1 for runs in region):
            return  # strided shards are no boxes, and torch cannot describe them here
        sizes = torch.Size(row[6])
        if not sizes.numel() and len(pieces) > 1:
            continue
        offsets = torch.Size([runs[0][0] if runs else 0 for runs in region]) if region else torch.Size([0] * len(sizes))
        where = MetadataIndex(name, offsets, len(chunks))
        chunks.append(ChunkStorageMetadata(offsets, sizes))
        metadata.storage_data[where] = _StorageInfo(f"rank-{rank:05}/{row[0]}", row[1], row[2])
    properties = TensorProperties(dtype=DTYPES[pieces[0][1][5]])
    metadata.state_dict_metadata[name] = TensorStorageMetadata(properties, torch.Size(shape), chunks)
