"""nvml.state: the file that configures and breaks the simulated driver."""

import ctypes
import mmap
import os
from pathlib import Path

from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.nvml.layout import MAGIC, VERSION, NvmlState

STATE_FILE = "nvml.state"


def create(path: Path) -> NvmlState:
    """A zeroed state file of the present layout, mapped; the caller fills it before clients look."""
    with open(path, "wb") as file:
        file.truncate(ctypes.sizeof(NvmlState))
    state = _map(path)
    state.version = VERSION
    state.magic = MAGIC
    return state


def attach(path: Path) -> NvmlState:
    """The live state: what is assigned is seen by the next NVML call of any process."""
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
    return NvmlState.from_buffer(shared)  # keeps the mapping alive for as long as it lives itself
