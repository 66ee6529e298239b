"""Waiting time under FSDP2, whose collectives run inside forward and backward: each is timed.

On a CPU, the call of a collective waits. On a GPU the call returns at once and the device waits later, in torch's own
code. There the waiting cannot be measured, and the report says so.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

Waiting = Callable[[], AbstractContextManager[None]]


class NotApart(ValueError):
    """Why waiting cannot be distinguished from computing here, in a few words."""


def watch(model: Any, waiting: Waiting) -> None:
    """Times the collectives. Raises NotApart before anything is changed."""
    for parameter in model.parameters():
        if parameter.is_cuda:
            raise NotApart("FSDP2 on GPUs waits inside torch's own code")
        if isinstance(parameter, DTensor) and parameter.device_mesh.ndim > 1:
            raise NotApart("a mesh of several dimensions also communicates in other ways")
    parts: list[tuple[Any, Any]] = [
        (part, _collectives(part)) for part in model.modules() if isinstance(part, FSDPModule)
    ]
    for part, pair in parts:
        if pair is not None:
            gather, scatter = pair
            part.set_custom_all_gather(_Timed(gather, waiting))
            part.set_custom_reduce_scatter(_Timed(scatter, waiting))


def _collectives(part: Any) -> tuple[Any, Any] | None:
    """The collectives in use, which may be custom ones; None for a module without parameters of its own."""
    try:
        groups = part._get_fsdp_state()._fsdp_param_groups
        pairs = [(group._all_gather_comm, group._reduce_scatter_comm) for group in groups]
    except AttributeError:
        raise NotApart("this version of torch does not expose how FSDP2 communicates") from None
    if len(pairs) > 1:
        raise NotApart("a part of the model is sharded over several meshes")
    return pairs[0] if pairs else None


class _Timed:
    """A collective of FSDP2 (its all-gather or reduce-scatter), timed with `waiting`."""

    def __init__(self, inner: Any, waiting: Waiting) -> None:
        self._inner, self._waiting = inner, waiting
        self.allocate = inner.allocate

    def __call__(self, *arguments: Any, **named: Any) -> dist.Work | None:
        with self._waiting():
            work: dist.Work | None = self._inner(*arguments, **named)
        return None if work is None else _TimedWork(work, self._waiting)


class _TimedWork(dist.Work):
    """An asynchronous operation whose wait is timed."""

    def __init__(self, work: dist.Work, waiting: Waiting) -> None:
        super().__init__()
        self._work, self._waiting = work, waiting

    def wait(self, *arguments: Any, **named: Any) -> bool:
        with self._waiting():
            return bool(self._work.wait(*arguments, **named))
