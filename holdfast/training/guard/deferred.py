"""Values that a GPU has not computed yet, read when they are ready, without waiting."""

from collections import deque
from typing import Any, Generic, TypeVar

import torch

Key = TypeVar("Key")


class Later(Generic[Key]):
    """Values in the order in which they were added. A value on the CPU is ready at once."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Key, str, float | torch.Tensor, Any]] = deque()

    def put(self, key: Key, name: str, value: float | torch.Tensor) -> None:
        if not isinstance(value, torch.Tensor):
            self._waiting.append((key, name, float(value), None))
        elif not value.is_cuda:
            self._waiting.append((key, name, float(value.detach()), None))
        else:
            self._waiting.append((key, name, *_on_its_way(value)))

    def arrived(self) -> list[tuple[Key, str, float]]:
        there = []
        while self._waiting:
            key, name, value, event = self._waiting[0]
            if event is not None and not event.query():
                break
            self._waiting.popleft()
            there.append((key, name, float(value)))
        return there


def _on_its_way(value: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """A copy into page-locked memory that the device makes after its earlier work, and the event that marks its end."""
    host = torch.empty((), dtype=value.dtype, pin_memory=True)
    host.copy_(value.detach(), non_blocking=True)
    cuda: Any = torch.cuda
    event = cuda.Event()
    event.record()
    return host, event
