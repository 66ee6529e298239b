"""Encodes a state as a tree of plain values and a list of tensors, and decodes it. Decoding never runs code.

Plain values are None, bool, int, float, str, bytes, list, tuple, dict, torch.Size, torch.dtype and NumPy arrays. All
other values are refused with their place in the state, because a pickle from another machine would be a program.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.format.region import region_of

Tree = Any  # range of msgpack
DEEPEST = 100
DTYPES = {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype)}


@dataclass(slots=True)
class Encoded:
    tree: Tree
    tensors: list[torch.Tensor]
    names: list[str]  # place of each tensor, for error messages and for other readers of the storage format


def encode(state: object) -> Encoded:
    encoded = Encoded(None, [], [])
    encoded.tree = _encode(state, "", encoded, 0)
    return encoded


def _encode(value: object, place: str, into: Encoded, depth: int) -> Tree:
    if depth > DEEPEST:
        raise EncodingError(f"state at {place[:60]}: more than {DEEPEST} levels deep")
    if value is None or type(value) in (bool, float, str, bytes):
        return value
    if isinstance(value, torch.Tensor):
        return _keep_tensor(value, place, into, "tensor")
    if isinstance(value, np.ndarray | np.generic):
        return _keep_tensor(
            _from_numpy(value, place), place, into, "array" if isinstance(value, np.ndarray) else "scalar"
        )
    if isinstance(value, bool | int):
        return value if -(2**63) <= value < 2**63 else ["int", str(value)]
    if isinstance(value, torch.dtype):
        return ["dtype", str(value)]
    return _encode_container(value, place, into, depth)


def _encode_container(value: object, place: str, into: Encoded, depth: int) -> Tree:
    def inner(part: object, name: object) -> Tree:
        return _encode(part, f"{place}.{name}" if place else str(name), into, depth + 1)

    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int, bool):
                raise EncodingError(f"state at {place or 'top'}: key {key!r:.60} is neither text nor a whole number")
        return ["dict", [[key, inner(part, key)] for key, part in value.items()]]
    kind = _KINDS.get(type(value))
    if kind is None:
        kept = "tensors, numbers, text, bytes, lists, tuples and dicts can be kept"
        raise EncodingError(f"state at {place or 'top'}: a {type(value).__name__} cannot be saved; {kept}")
    return [kind, [inner(part, at) for at, part in enumerate(cast(Sequence[object], value))]]


def _from_numpy(value: Any, place: str) -> torch.Tensor:
    try:
        return torch.from_numpy(np.array(value))
    except TypeError as error:
        raise EncodingError(f"state at {place}: a NumPy array of {value.dtype} cannot be saved") from error


def _keep_tensor(tensor: torch.Tensor, place: str, into: Encoded, kind: str) -> Tree:
    layout: list[Any] = []
    if isinstance(tensor, DTensor):
        kind, layout = "shard", [list(tensor.shape), region_of(tensor)]
        tensor = tensor.to_local()
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise EncodingError(
            f"state at {place}: a tensor of layout {tensor.layout} cannot be saved; expected a dense one"
        )
    into.tensors.append(tensor)
    into.names.append(place)
    number = len(into.tensors) - 1
    return [kind, [number, *layout] if layout else number]


def decode(tree: Tree, tensors: Sequence[torch.Tensor], like: object = None) -> object:
    """The decoded state. `like` is the current state: shards of distributed tensors take their mesh from there."""
    try:
        return _decode(tree, tensors, like, 0)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise EncodingError(f"not a state: {error}") from error


def numbers(tree: Tree) -> Iterator[int]:
    """Indices of the tensors in a tree."""
    if not isinstance(tree, list):
        return
    kind, content = tree
    if kind == "dict" or kind in _SEQUENCES:
        for part in content:
            yield from numbers(part[1] if kind == "dict" else part)
    elif kind in ("tensor", "array", "scalar"):
        yield content
    elif kind == "shard":
        yield content[0]


def has_tensors(tree: Tree) -> bool:
    return next(numbers(tree), None) is not None


def layouts(tree: Tree) -> dict[int, tuple[list[int], Any]]:
    """Full shape and region of each distributed tensor, by its index."""
    if not isinstance(tree, list):
        return {}
    kind, content = tree
    if kind == "shard":
        return {content[0]: (content[1], content[2])} if content[2] is not None else {}
    parts = [part[1] for part in content] if kind == "dict" else content if kind in _SEQUENCES else []
    return {number: layout for part in parts for number, layout in layouts(part).items()}


def has_shards(tree: Tree) -> bool:
    """Whether it contains shards of distributed tensors, which can only be loaded into a state that has these
    tensors."""
    if not isinstance(tree, list):
        return False
    kind, content = tree
    if kind == "dict":
        return any(has_shards(part) for _, part in content)
    return kind == "shard" or (kind in _SEQUENCES and any(has_shards(part) for part in content))


def _decode(tree: Tree, tensors: Sequence[torch.Tensor], like: object, depth: int) -> object:
    if depth > DEEPEST:
        raise EncodingError(f"more than {DEEPEST} levels deep")
    if not isinstance(tree, list):
        return tree
    kind, content = tree
    if kind == "dict":
        old = like if isinstance(like, dict) else {}
        return {key: _decode(part, tensors, old.get(key), depth + 1) for key, part in content}
    if kind in _SEQUENCES:
        row = like if isinstance(like, list | tuple) and len(like) == len(content) else [None] * len(content)
        return _SEQUENCES[kind](_decode(part, tensors, row[at], depth + 1) for at, part in enumerate(content))
    if kind == "shard":
        return _shard(tensors[content[0]], like)
    return _LEAVES[kind](content, tensors)


def _shard(local: torch.Tensor, like: object) -> torch.Tensor:
    if not isinstance(like, DTensor):
        raise EncodingError("a shard of a distributed tensor, but the state to load into has none at its place")
    if local.shape != like.to_local().shape:
        expected = tuple(like.to_local().shape)
        raise EncodingError(f"a shard of shape {tuple(local.shape)} for a place of {expected}: was the layout changed?")
    return DTensor.from_local(
        local.to(like.device), like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    )


_KINDS: dict[type, str] = {list: "list", tuple: "tuple", torch.Size: "size"}
_SEQUENCES: dict[str, Callable[[Any], object]] = {"list": list, "tuple": tuple, "size": torch.Size}
_LEAVES: dict[str, Callable[[Any, Sequence[torch.Tensor]], object]] = {
    "int": lambda content, tensors: int(content),
    "dtype": lambda content, tensors: DTYPES[content],
    "tensor": lambda content, tensors: tensors[content],
    "array": lambda content, tensors: tensors[content].numpy(),
    "scalar": lambda content, tensors: tensors[content].numpy()[()],
}
