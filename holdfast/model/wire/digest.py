"""Digest: one minute of a node in at most 64 numbers, for rules that compare many nodes."""

import math
import struct
from collections.abc import Callable

from holdfast.model.subject import Subject, gpu

VERSION = 1
GPUS = 8  # a digest has the first eight GPUs of a node
SIGNALS = (
    "gpu_temperature_celsius",
    "gpu_memory_temperature_celsius",
    "gpu_power_watts",
    "gpu_clock_sm_hertz",
    "gpu_clock_event_reasons",
    "gpu_utilization_ratio",
    "gpu_pcie_replay_total",
    "gpu_ecc_volatile_corrected_total",
)
_FORMAT = struct.Struct(f"<B{GPUS * len(SIGNALS)}f")
_LARGEST = 3.4e38
ReadSignal = Callable[[Subject, str], float | None]


def pack(node: str, read: ReadSignal) -> bytes:
    """GPU by GPU, each signal in the order of SIGNALS; unknown values are NaN."""
    found = [read(gpu(node, index), name) for index in range(GPUS) for name in SIGNALS]
    return _FORMAT.pack(VERSION, *(_single(value) for value in found))


def _single(value: float | None) -> float:
    """The value as float32; NaN if it does not fit."""
    return value if value is not None and abs(value) <= _LARGEST else math.nan


def unpack(digest: bytes) -> dict[tuple[int, str], float]:
    """Values by GPU and signal, without unknown ones. Empty for a digest of another version."""
    if len(digest) != _FORMAT.size or digest[0] != VERSION:
        return {}
    _, *values = _FORMAT.unpack(digest)
    places = [(index, name) for index in range(GPUS) for name in SIGNALS]
    return {place: value for place, value in zip(places, values, strict=True) if not math.isnan(value)}
