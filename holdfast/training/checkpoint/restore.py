"""Saved values back into the objects of a training: all of them or none."""

from collections.abc import Mapping
from typing import Any

import torch

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import decode, has_shards

State = dict[str, Any]


class CheckpointError(RuntimeError):
    """What stands in the way of loading, in one sentence."""


class LoadRefused(CheckpointError):
    """What is saved cannot be loaded by this run, and a restart alone will not change that. Raised on all ranks alike.

    `holdfast run` recognises the name of this class in a traceback.
    """


def snapshot(part: Any) -> Any:
    return part.state_dict() if hasattr(part, "state_dict") else part


def apply(got: shard.Shard, state: State) -> None:
    """Put the saved values into the state; nothing is touched unless both have the same parts."""
    like = {name: snapshot(part) for name, part in state.items()} if has_shards(got.tree) else None
    saved = decoded(got, like)
    check(saved, state)
    put(saved, state)


def decoded(got: shard.Shard, like: Mapping[str, Any] | None) -> Any:
    """The saved values. Optimizers keep the tensors they are given: what they get must not be the keeper's memory."""
    return decode(got.tree, [tensor.clone() for tensor in got.tensors], like)


def check(saved: Any, state: State) -> None:
    if not isinstance(saved, dict) or saved.keys() != state.keys():
        there = ", ".join(map(str, saved)) if isinstance(saved, dict) else "nothing of this kind"
        raise LoadRefused(f"the checkpoint holds {there}; the state to load has {', '.join(state)}")
    for name, part in state.items():  # copying would stretch one row over many, or round to whole numbers
        if isinstance(part, torch.Tensor) and _kind(saved[name]) != _kind(part):
            raise LoadRefused(f"{name}: the checkpoint holds {_kind(saved[name])}, the state to load {_kind(part)}")


def put(saved: Mapping[str, Any], state: State) -> None:
    for name, value in saved.items():
        part = state[name]
        if hasattr(part, "load_state_dict"):
            part.load_state_dict(value)
        elif isinstance(part, torch.Tensor):
            with torch.no_grad():
                part.copy_(value)
        else:
            state[name] = value


def _kind(part: Any) -> str:
    return f"{part.dtype} of {tuple(part.shape)}" if isinstance(part, torch.Tensor) else type(part).__name__
