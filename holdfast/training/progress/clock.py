"""Timestamps inside a step: immediate on a CPU, by events without waiting on a GPU."""

import time
from typing import Any, Protocol


class Marker(Protocol):
    def mark(self) -> Any: ...
    def seconds(self, earlier: Any, later: Any) -> float | None:
        """Seconds between two marks; None until the later one is reached."""


class HostMarker:
    mark = staticmethod(time.perf_counter)

    @staticmethod
    def seconds(earlier: float, later: float) -> float | None:
        return later - earlier


class DeviceMarker:
    """CUDA events in the computing stream. A thread that does not compute reads them later."""

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
    """The marker for the device of the model's parameters. torch is loaded already if there is a model."""
    import torch

    first = next(iter(model.parameters()), None)
    return DeviceMarker(torch.cuda) if first is not None and first.is_cuda else HostMarker()
