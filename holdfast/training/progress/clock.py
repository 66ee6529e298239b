"""Timestamps inside a step: on a CPU at once, on a GPU by events without waiting."""

import time
from typing import Any, Protocol


class Marker(Protocol):
    def mark(self) -> Any: ...
    def seconds(self, earlier: Any, later: Any) -> float | None:
        """Between two marks; None while the later one has not been reached."""


class HostMarker:
    mark = staticmethod(time.perf_counter)

    @staticmethod
    def seconds(earlier: float, later: float) -> float | None:
        return later - earlier


class DeviceMarker:
    """CUDA events in the stream that computes. They are asked for later, by a thread that does not compute."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda

    def mark(self) -> Any:
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def seconds(earlier: Any, later: Any) -> float | None:
        return float(earlier.elapsed_time(later)) / 1e3 if later.query() else None


def marker_for(model: Any) -> Marker:
    """By where the model's parameters are. torch is loaded already where there is a model."""
    import torch

    first = next(iter(model.parameters()), None)
    return DeviceMarker(torch.cuda) if first is not None and first.is_cuda else HostMarker()
