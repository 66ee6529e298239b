"""A library with the CUDA runtime's ABI whose GPU memory is shared memory. A file controls its faults.

home = make(folder, gpus=2)         # HOLDFAST_CUDART=home/libcudart.so.13 makes a process use it
gpus = attach(home)
gpus.device[1].fault = 999          # the next call that touches it fails, in every process
"""

import ctypes
import mmap
import os
import shutil
from importlib.resources import files
from pathlib import Path

from holdfast.lab.twin.cuda.layout import MAGIC, MAX_DEVICES, VERSION, CudaState, c_header
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.shared_library import compiled

__all__ = ["SONAME", "STATE_FILE", "CudaState", "attach", "make", "sources"]

SONAME = "libcudart.so.13"
STATE_FILE = "cuda.state"
SOURCES = ("runtime.c", "memory.c", "abi.h")


def sources() -> dict[str, str]:
    room = files("holdfast.lab.twin.cuda")
    return {**{name: room.joinpath(name).read_text(encoding="utf-8") for name in SOURCES}, "state.h": c_header()}


def make(home: Path, gpus: int = 2, memory_bytes: int = 1 << 30) -> Path:
    """Creates the library in this folder, with its state file, so that clients need only the library's path."""
    if not 0 < gpus <= MAX_DEVICES:
        raise TwinError(f"{gpus} GPUs: expected 1 to {MAX_DEVICES}")
    home.mkdir(parents=True, exist_ok=True)
    with open(home / STATE_FILE, "wb") as file:
        file.truncate(ctypes.sizeof(CudaState))
    state = _map(home / STATE_FILE)
    state.version, state.device_count = VERSION, gpus
    for number in range(gpus):
        state.device[number].total = memory_bytes
        state.device[number].bus_id = f"0000:{0x18 + number:02X}:00.0".encode()
    state.magic = MAGIC
    shutil.copy(compiled(sources(), SONAME, "CUDA"), home / SONAME)
    return home / SONAME


def attach(home: Path) -> CudaState:
    """Maps the live state: the next call of any process sees an assigned value."""
    try:
        state = _map(home / STATE_FILE)
    except (OSError, ValueError) as error:
        raise TwinError(f"{home} has no simulated GPU memory: {error}") from None
    if state.magic != MAGIC or state.version != VERSION:
        raise TwinError(f"{home / STATE_FILE} was made by another version of the twin; make it again")
    return state


def _map(path: Path) -> CudaState:
    descriptor = os.open(path, os.O_RDWR)
    try:
        shared = mmap.mmap(descriptor, ctypes.sizeof(CudaState))
    finally:
        os.close(descriptor)
    return CudaState.from_buffer(shared)  # keeps the mapping alive as long as the state object
