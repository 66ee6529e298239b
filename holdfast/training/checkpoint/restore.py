"""Restores saved values into the objects of a training: all of them or none."""

from collections.abc import Mapping
from typing import Any

import torch

from holdfast.training.checkpoint.format import shard
from holdfast.training.checkpoint.format.encoding import decode, has_shards, numbers
from holdfast.training.checkpoint.format.message import EncodingError

State = dict[str, Any]
# Exceptions of readers and parts of a state for a document of another version or program, or a damaged one.
MISFITS = (TypeError, ValueError, LookupError, AttributeError, RuntimeError, OverflowError)


class CheckpointError(RuntimeError):
    """The state cannot be loaded; the message says why, in one sentence."""


class LoadRefused(CheckpointError):
    """This run cannot load the saved state, and a restart alone will not change that.

    Raised on all ranks alike. `holdfast run` recognises the name of this class in a traceback.
    """


def snapshot(part: Any) -> Any:
    return part.state_dict() if hasattr(part, "state_dict") else part


def prepared(got: shard.Shard, state: State) -> Any:
    """The saved values for this state, which is not changed. Raises EncodingError."""
    try:
        like = {name: snapshot(part) for name, part in state.items()} if has_shards(got.tree) else None
        saved = decoded(got, like, state)
    except EncodingError:
        raise
    except MISFITS as error:
        raise EncodingError(f"not a state: {in_one_line(error)}") from error
    check(saved, state)
    return saved


def in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, RuntimeError | ValueError) and text else f"{type(error).__name__} {text}".strip()


def decoded(got: shard.Shard, like: Mapping[str, Any] | None, state: State) -> Any:
    """The saved values.

    Parts that keep the tensors they are given must not get the keeper's memory, so those tensors are copied. Modules
    and tensors copy by themselves, so for them the memory is only mapped.
    """
    copied = set() if not got.owned else set(range(len(got.tensors)))
    if not got.owned:
        for name, tree in got.tree[1] if isinstance(got.tree, list) and got.tree[0] == "dict" else ():
            copied |= _copied_by_its_owner(state.get(name), tree)
    return decode(got.tree, [tensor if at in copied else tensor.clone() for at, tensor in enumerate(got.tensors)], like)


def _copied_by_its_owner(part: Any, tree: Any) -> set[int]:
    """Indices of the tensors that the part copies when it is loaded."""
    if isinstance(part, torch.nn.Module) and not has_shards(tree):
        return set(numbers(tree)) if type(part).load_state_dict is torch.nn.Module.load_state_dict else set()
    if isinstance(part, torch.Tensor):
        return set(numbers(tree))
    return set()


def check(saved: Any, state: State) -> None:
    if not isinstance(saved, dict) or saved.keys() != state.keys():
        there = ", ".join(map(str, saved)) if isinstance(saved, dict) else "nothing of this kind"
        raise LoadRefused(f"the checkpoint holds {there}; the state to load has {', '.join(state)}")
    for name, part in state.items():  # copy_ would broadcast one row to many, or round to integers
        if isinstance(part, torch.Tensor) and _kind(saved[name]) != _kind(part):
            raise LoadRefused(f"{name}: the checkpoint holds {_kind(saved[name])}, the state to load {_kind(part)}")


def put(saved: Mapping[str, Any], state: State) -> None:
    """Loads the values. Raises CheckpointError if a part refuses its value; the parts before it are already loaded."""
    for name, value in saved.items():
        try:
            _put(name, value, state)
        except torch.OutOfMemoryError:
            raise
        except MISFITS as error:
            raise CheckpointError(f"{name}: {in_one_line(error)}") from error


def _put(name: str, value: Any, state: State) -> None:
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
