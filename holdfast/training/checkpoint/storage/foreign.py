"""Reads checkpoints of other tools: torch.distributed.checkpoint, safetensors and torch.save.

load_from("/models/llama", {"model": model})
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.tensor import DTensor

from holdfast.training.checkpoint.format.region import copy_overlap, region_of, shape_of, whole
from holdfast.training.checkpoint.restore import CheckpointError, State, put, snapshot

SAFETENSORS_INDEX = "model.safetensors.index.json"


def load_from(path: str | Path, state: State) -> None:
    """Loads the state from this path; each rank of a distributed model takes its own part.

    The path is a folder of torch.distributed.checkpoint (a step of Holdfast is one), a file or folder of safetensors
    (into the one module of the state), or a file of torch.save with the parts of the state or with the one module
    alone. The index of torch.distributed.checkpoint is a pickle, which can run code: read it only from a place that you
    trust.
    """
    place = Path(path)
    if (place / ".metadata").exists():
        saved = {name: snapshot(part) for name, part in state.items()}
        load(saved, checkpoint_id=place, no_dist=not torch.distributed.is_initialized())
        put(saved, state)
    elif place.suffix == ".safetensors" or (place.is_dir() and list(place.glob("*.safetensors"))):
        _into_module(_safetensors(place), state, place)
    elif place.is_file():
        _torch_save(place, state)
    else:
        expected = "a folder of torch.distributed.checkpoint, safetensors, or a file of torch.save"
        raise CheckpointError(f"{place}: no checkpoint is there; expected {expected}")


def _safetensors(place: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    if place.is_file():
        return dict(load_file(place))
    index = place / SAFETENSORS_INDEX
    names = set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else None
    files = [place / name for name in sorted(names)] if names else sorted(place.glob("*.safetensors"))
    return {name: tensor for file in files for name, tensor in load_file(file).items()}


def _torch_save(place: Path, state: State) -> None:
    saved = torch.load(place, map_location="cpu", weights_only=True, mmap=True)
    if not isinstance(saved, dict):
        raise CheckpointError(f"{place}: it holds a {type(saved).__name__}, expected a dict")
    if state.keys() <= saved.keys():
        whole_parts = {name: value for name, value in saved.items() if name in state}
        distributed = [name for name, part in state.items() if _has_shards(snapshot(part))]
        put({name: value for name, value in whole_parts.items() if name not in distributed}, state)
        for name in distributed:
            _load_cut(state[name], whole_parts[name], place)
    else:
        _into_module(saved, state, place)


def _into_module(tensors: Mapping[str, Any], state: State, place: Path) -> None:
    modules = [part for part in state.values() if isinstance(part, torch.nn.Module)]
    if len(modules) != 1:
        raise CheckpointError(f"{place} holds one model and the state to load has {len(modules)}")
    _load_cut(modules[0], tensors, place)


def _load_cut(part: Any, tensors: Mapping[str, Any], place: Path) -> None:
    """Loads full tensors into a module of which each rank may hold only a part."""
    like = snapshot(part)
    prefix = "module." if all(name.startswith("module.") for name in like) else ""  # DDP
    given = {name if name.startswith(prefix) else f"{prefix}{name}": value for name, value in tensors.items()}
    if missing := [name for name in like if name not in given]:
        raise CheckpointError(f"{place}: {len(missing)} tensors of the model are not in it, {missing[0]} among them")
    part.load_state_dict({name: _cut(given[name], tensor) for name, tensor in like.items()})


def _cut(full: Any, like: Any) -> Any:
    if not isinstance(like, DTensor) or not isinstance(full, torch.Tensor):
        return full
    region = region_of(like)
    if region is None or full.shape != like.shape:
        raise CheckpointError(f"a tensor of shape {tuple(full.shape)} does not fit into {tuple(like.shape)}")
    local = torch.empty(shape_of(region), dtype=full.dtype)
    copy_overlap(local, region, full, whole(full.shape))
    return DTensor.from_local(
        local.to(like.device), like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    )


def _has_shards(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(part, DTensor) for part in value.values())
