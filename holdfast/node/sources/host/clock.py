"""Kernel clock state through adjtimex(2), read-only, whichever daemon disciplines it."""

import ctypes
import os

from holdfast.formats.host.timex import ClockState, from_kernel, from_text
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder


class _Timex(ctypes.Structure):
    """struct timex; only the head is named, the rest is room for the kernel to write into."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


class ClockSource:
    name = "clock"
    every = 30.0
    deadline = 5.0
    carries: tuple[str, ...] = ("clock_synchronised", "clock_offset_seconds", "clock_max_error_seconds")

    def __init__(self, node: str, timex: str = "") -> None:
        self._node = subject.node(node)
        self._timex = timex

    def read(self, now: float) -> Reading:
        state = _from_file(self._timex) if self._timex else _from_kernel()
        if isinstance(state, str):
            return Reading(source=self.name, at=now, present=[self._node], blind=state)
        builder = ReadingBuilder()
        builder.add(self._node, "clock_synchronised", float(state.synchronised))
        builder.add(self._node, "clock_offset_seconds", state.offset_seconds)
        builder.add(self._node, "clock_max_error_seconds", state.max_error_seconds)
        return builder.build(self.name, now, [self._node])


def _from_kernel() -> ClockState | str:
    timex = _Timex()
    try:
        returned = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return "this system's C library has no adjtimex to ask the kernel's clock with"
    if returned < 0:
        return f"the kernel refuses to report its clock state: {os.strerror(ctypes.get_errno())}"
    return from_kernel(returned, timex.status, timex.offset, timex.maxerror)


def _from_file(path: str) -> ClockState | str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            state = from_text(file.read(65536))
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return f"{path}: {state}" if isinstance(state, str) else state
