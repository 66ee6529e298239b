"""nvml.state: the file that configures the simulated driver and its faults."""

import ctypes
import mmap
import os
from pathlib import Path

from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.nvml.layout import MAGIC, VERSION, NvmlState

STATE_FILE = "nvml.state"


def create(path: Path) -> NvmlState:
    """Creates and maps a zeroed state file of the current layout; the caller fills it before clients open it."""
    with open(path, "wb") as file:
        file.truncate(ctypes.sizeof(NvmlState))
    state = _map(path)
    state.version = VERSION
    state.magic = MAGIC
    return state


def attach(path: Path) -> NvmlState:
    """Maps the live state: the next NVML call of any process sees an assigned value."""
    try:
        state = _map(path)
    except (OSError, ValueError) as error:
        raise TwinError(f"{path} is not the state of a twin: {error}") from None
    if state.magic != MAGIC or state.version != VERSION:
        raise TwinError(f"{path} was made by another version of the twin; make the node again")
    return state


def _map(path: Path) -> NvmlState:
    descriptor = os.open(path, os.O_RDWR)
    try:
        shared = mmap.mmap(descriptor, ctypes.sizeof(NvmlState))
    finally:
        os.close(descriptor)
    return NvmlState.from_buffer(shared)  # keeps the mapping alive as long as the state object
