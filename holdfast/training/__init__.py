"""Public API for training scripts. A name loads its module, and torch, only when it is used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.training.checkpoint.checkpoint import Checkpoint
    from holdfast.training.checkpoint.parts import Parallel, Random
    from holdfast.training.checkpoint.position import Position
    from holdfast.training.checkpoint.restore import CheckpointError, LoadRefused
    from holdfast.training.checkpoint.storage.foreign import load_from
    from holdfast.training.guard.guard import Guard
    from holdfast.training.progress.progress import Progress

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Guard",
    "LoadRefused",
    "Parallel",
    "Position",
    "Progress",
    "Random",
    "load_from",
]

_HOMES = {
    "Checkpoint": "checkpoint.checkpoint",
    "CheckpointError": "checkpoint.restore",
    "LoadRefused": "checkpoint.restore",
    "load_from": "checkpoint.storage.foreign",
    "Guard": "guard.guard",
    "Parallel": "checkpoint.parts",
    "Position": "checkpoint.position",
    "Progress": "progress.progress",
    "Random": "checkpoint.parts",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
