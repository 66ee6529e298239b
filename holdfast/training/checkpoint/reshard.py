"""Loads a step of N ranks into M ranks: distributed tensors are resharded, replicated values taken once.

One rank describes each saved shard. From all descriptions every rank knows which shards it needs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
import xxhash
from torch.distributed.tensor import DTensor

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import Tree, decode, encode
from holdfast.training.checkpoint.format.message import EncodingError, pack
from holdfast.training.checkpoint.format.region import (
    Region,
    checked,
    copy_overlap,
    overlap_size,
    region_of,
    shape_of,
    whole,
)
from holdfast.training.checkpoint.position import is_data
from holdfast.training.checkpoint.restore import State, snapshot

Description = dict[str, Any]
CONTAINERS = ("dict", "list", "tuple", "size")
TENSORS = ("tensor", "array", "scalar", "shard")


def describe(got: shard.Shard, per_rank: set[str]) -> Description:
    """Describes a saved shard without its data: regions of distributed tensors, hashes of values that should be
    equal."""
    parts = dict(got.tree[1])
    shards, plain, values = {}, {}, {}
    for name, tree in parts.items():
        if name in per_rank:
            continue
        for path, kind, content in _leaves(tree, str(name)):
            if kind == "shard":
                shards[path] = [*content[1:], str(got.tensors[content[0]].dtype)]
            else:
                plain[path] = _digest(got.tensors[content])
        values[str(name)] = xxhash.xxh3_64_intdigest(pack(_without_tensors(tree)))
    states = {name: _to_bytes(decode(parts[name], got.tensors)) for name in per_rank if name in parts}
    return {"names": [str(name) for name in parts], "shards": shards, "plain": plain, "values": values, "own": states}


@dataclass
class Resharding:
    """The plan of one new rank. `rows` are the descriptions of all saved ranks, by rank."""

    rows: Sequence[Description]
    rank: int
    world: int
    state: State

    def __post_init__(self) -> None:
        self.notes: list[str] = []
        self.like: dict[str, Any] = {name: snapshot(part) for name, part in self.state.items()}
        self.template = self._template()
        self._wanted = dict(self._wanted_regions())
        self._from_first = self._differing()

    @property
    def per_rank(self) -> set[str]:
        return per_rank(self.state)

    def needed(self, at_hand: Sequence[int]) -> set[int]:
        """The saved ranks whose shards this rank reads."""
        ranks = {self.template} | ({0} if self._from_first else set())
        for path, wanted in self._wanted.items():
            for holders, region in self._pieces(path).values():
                if overlap_size(wanted, region):
                    near = [one for one in holders if one in ranks or one in at_hand]
                    ranks.add(near[0] if near else holders[self.rank % len(holders)])
        return ranks

    def assemble(self, shards: Mapping[int, shard.Shard]) -> shard.Shard:
        """This rank's own shard, as if this world had saved it, without the parts that are per rank."""
        source = shards[self.template]
        tensors: list[torch.Tensor] = []
        trees = {rank: {path: content for path, _, content in _leaves_of(got)} for rank, got in shards.items()}

        def put(path: str, kind: str, content: Any, like: object) -> Tree:
            if path in self._wanted:
                made = self._put_together(path, shards, trees)
            else:
                first = self._from_first and path in self._from_first
                origin = 0 if first else self.template
                made = shards[origin].tensors[trees[origin][path] if first else content]
            tensors.append(made)
            number = len(tensors) - 1
            if isinstance(like, DTensor):
                return ["shard", [number, list(like.shape), None]]
            return ["tensor" if kind == "shard" else kind, number]

        parts = [
            [name, _rebuilt(tree, str(name), self.like.get(name), put)]
            for name, tree in source.tree[1]
            if str(name) not in self.per_rank
        ]
        return shard.Shard(source.about, ["dict", parts], [], tensors)

    def keeps_own(self, name: str) -> bool:
        """Whether the part is a loader that saved its own position, which is useless for another number of ranks."""
        return is_data(self.state[name])

    def states(self, name: str) -> list[Any]:
        """The saved values of all ranks for a part that is per rank."""
        return [_from_bytes(row["own"][name]) for row in self.rows]

    def _put_together(self, path: str, shards: Mapping[int, shard.Shard], trees: Mapping[int, Any]) -> torch.Tensor:
        wanted = self._wanted[path]
        out: torch.Tensor | None = None
        filled = 0
        for holders, region in self._pieces(path).values():
            count = overlap_size(wanted, region)
            holder = next((one for one in holders if one in shards), None)
            if not count or holder is None:
                continue
            content = trees[holder][path]
            piece = shards[holder].tensors[content[0] if isinstance(content, list) else content]
            out = torch.empty(shape_of(wanted), dtype=piece.dtype) if out is None else out
            copy_overlap(out, wanted, piece, region)
            filled += count
        size = prod(shape_of(wanted))
        if out is None and not size:
            content = trees[self.template][path]
            like = shards[self.template].tensors[content[0] if isinstance(content, list) else content]
            out = torch.empty(shape_of(wanted), dtype=like.dtype)
        if out is None or filled != size:
            raise EncodingError(f"{path}: the saved shards hold {filled} of its {size} numbers")
        return out

    def _pieces(self, path: str) -> dict[str, tuple[list[int], Region]]:
        """The different regions of a tensor, and which saved ranks hold each."""
        found: dict[str, tuple[list[int], Region]] = {}
        for rank, row in enumerate(self.rows):
            if path in row["shards"]:
                shape, region, _ = row["shards"][path]
                if region is None:
                    raise EncodingError(f"{path}: saved with a layout other than shards and replicas")
                found.setdefault(str(region), ([], checked(region, shape)))[0].append(rank)
        if not found:
            holders = [rank for rank, row in enumerate(self.rows) if path in row["plain"]]
            found["whole"] = (holders, whole(self._shape_in_state(path)))
        return found

    def _shape_in_state(self, path: str) -> Sequence[int]:
        like = dict(_like_leaves(self.like))[path]
        return tuple(like.shape)

    def _wanted_regions(self) -> Iterator[tuple[str, Region]]:
        """Tensors that this rank shards differently from the saved ones."""
        here = dict(_like_leaves(self.like))
        row = self.rows[self.template]
        distributed = any(isinstance(tensor, DTensor) for tensor in here.values())
        for path, (shape, _, _) in row["shards"].items():
            like = here.get(path)
            if like is None and distributed:
                raise EncodingError(f"{path}: saved from a distributed tensor, and the state to load has none there")
            yield path, _region_here(path, like, shape)
        for path in row["plain"]:
            if isinstance(like := here.get(path), DTensor):
                yield path, _region_here(path, like, like.shape)

    def _template(self) -> int:
        """The saved rank whose tree is used: one that has all tensors which this rank has."""
        here = {path for path, _ in _like_leaves({n: v for n, v in self.like.items() if n not in self.per_rank})}
        ranks: list[int] = [self.rank % len(self.rows), *range(len(self.rows))]
        for rank in ranks:
            if here <= self.rows[rank]["shards"].keys() | self.rows[rank]["plain"].keys():
                return rank
        return ranks[0]

    def _differing(self) -> set[str]:
        """Tensors that are not distributed and differ between ranks: only buffers may differ."""
        buffers = {name for part in self.state.values() for name in _buffers(part)}
        from_first = set()
        for path in self.rows[self.template]["plain"]:
            if len({row["plain"].get(path) for row in self.rows} - {None}) < 2:
                continue
            if is_data(self.state.get(path.partition("/")[0])):
                continue
            if path.rpartition("/")[2].removeprefix("module.") not in buffers or path not in self.rows[0]["plain"]:
                raise EncodingError(
                    f"{path}: {len(self.rows)} ranks saved different values of it, and it is not a distributed tensor; "
                    "with another number of ranks it is unknown which rank should get which value"
                )
            from_first.add(path)
        for name in self.rows[self.template]["values"]:
            if is_data(self.state.get(name)):
                self.notes.append(
                    f"{name}: its position in the data is lost with the number of ranks; use Position.over"
                )
            elif len({row["values"].get(name) for row in self.rows}) > 1:
                whose = "of rank 0" if not self.template else f"of saved rank {self.template}"
                self.notes.append(f"{name}: the ranks saved different values; this rank takes those {whose}")
        return from_first


def per_rank(state: State) -> set[str]:
    """Parts that are per rank and can convert values of another number of ranks."""
    return {name for name, part in state.items() if hasattr(part, "load_resharded")}


def _region_here(path: str, like: object, shape: Sequence[int]) -> Region:
    if isinstance(like, torch.Tensor) and tuple(like.shape) != tuple(shape):
        raise EncodingError(f"{path}: saved with shape {tuple(shape)}, the state to load has {tuple(like.shape)}")
    if not isinstance(like, DTensor):
        return whole(shape)
    region = region_of(like)
    if region is None:
        raise EncodingError(f"{path}: the state to load has a layout other than shards and replicas")
    return region


def _leaves_of(got: shard.Shard) -> Iterator[tuple[str, str, Any]]:
    for name, tree in got.tree[1]:
        yield from _leaves(tree, str(name))


def _leaves(tree: Tree, path: str) -> Iterator[tuple[str, str, Any]]:
    """Tensors of a tree, with their paths."""
    if not isinstance(tree, list):
        return
    kind, content = tree
    if kind == "dict":
        for key, part in content:
            yield from _leaves(part, f"{path}/{key}")
    elif kind in CONTAINERS:
        for at, part in enumerate(content):
            yield from _leaves(part, f"{path}/{at}")
    elif kind in TENSORS:
        yield path, kind, content


def _like_leaves(value: object, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _like_leaves(part, f"{path}/{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from _like_leaves(part, f"{path}/{at}")


def _without_tensors(tree: Tree) -> Tree:
    if not isinstance(tree, list):
        return tree
    kind, content = tree
    if kind == "dict":
        return [kind, [[key, _without_tensors(part)] for key, part in content]]
    if kind in CONTAINERS:
        return [kind, [_without_tensors(part) for part in content]]
    return kind if kind in TENSORS else tree


def _rebuilt(tree: Tree, path: str, like: Any, put: Callable[[str, str, Any, object], Tree]) -> Tree:
    if not isinstance(tree, list):
        return tree
    kind, content = tree
    if kind == "dict":
        old = like if isinstance(like, dict) else {}
        return [kind, [[key, _rebuilt(part, f"{path}/{key}", old.get(key), put)] for key, part in content]]
    if kind in CONTAINERS:
        row = like if isinstance(like, list | tuple) and len(like) == len(content) else [None] * len(content)
        return [kind, [_rebuilt(part, f"{path}/{at}", row[at], put) for at, part in enumerate(content)]]
    return put(path, kind, content, like) if kind in TENSORS else tree


def _buffers(part: Any) -> list[str]:
    module = part if isinstance(part, torch.nn.Module) else getattr(part, "model", None)
    named = module.named_buffers() if isinstance(module, torch.nn.Module) else ()
    return [name.removeprefix("module.") for name, _ in named]


def _digest(tensor: torch.Tensor) -> int:
    flat = tensor.contiguous().reshape(-1)
    raw: Any = (torch.view_as_real(flat) if flat.is_complex() else flat).view(torch.uint8).numpy()
    return xxhash.xxh3_64_intdigest(raw)


def _to_bytes(value: object) -> bytes:
    encoded = encode(value)
    plan = shard.plan(shard.About("", 0, 1, 0), encoded)
    buffer = bytearray(plan.size)
    shard.write(plan, encoded, buffer)
    return bytes(buffer)


def _from_bytes(raw: bytes) -> Any:
    buffer = bytearray(raw)
    got = shard.read(buffer, len(buffer))
    return decode(got.tree, [tensor.clone() for tensor in got.tensors])
