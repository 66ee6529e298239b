"""Layout of cuda.state, the simulated GPU memory, for Python and (generated) for C."""

import ctypes
from ctypes import Array, Structure
from typing import Annotated

from holdfast.lab.twin.c_layout import U32, U64, c_struct, packed

MAGIC = 0x4144554344464C48  # 'HLFDCUDA' in memory order
VERSION = 1
MAX_DEVICES = 16
MAX_ALLOCATIONS = 256


@packed
class Allocation(Structure):
    """One allocation. It counts only while its process lives."""

    owner: U32
    device: U32
    size: U64


@packed
class Device(Structure):
    total: U64
    fault: U32  # cudaError that every operation on this GPU returns; 0: none
    unused: U32
    bus_id: Annotated[bytes, ctypes.c_char * 16]


@packed
class CudaState(Structure):
    magic: U64
    version: U32
    device_count: U32
    no_peer_access: U32
    refuse_handles: U32
    flip_copy: U32  # this copy into a GPU, counted from now, arrives with one flipped bit; 0: none
    unused: U32
    page_locked: U64  # host memory in use by all processes, in bytes
    device: Annotated["Array[Device]", Device * MAX_DEVICES]
    allocation: Annotated["Array[Allocation]", Allocation * MAX_ALLOCATIONS]


def c_header() -> str:
    """The same layout as a C header."""
    lines = ["/* generated from layout.py */", "#include <stdint.h>"]
    lines += [f"#define STATE_MAGIC 0x{MAGIC:x}ULL", f"#define STATE_VERSION {VERSION}"]
    lines += [f"#define MAX_ALLOCATIONS {MAX_ALLOCATIONS}"]
    return "\n".join(lines) + "\n" + "".join(map(c_struct, (Allocation, Device, CudaState)))
