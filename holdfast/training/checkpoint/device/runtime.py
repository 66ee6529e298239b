"""The functions of the CUDA runtime's C interface that copies need. A keeper has no torch.

Every failure is a CudaError with the runtime's own message. The runtime also keeps its last error for the next caller,
and torch checks it after each kernel, so it is cleared at once. Otherwise our failure would end the training.
"""

import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

NAMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so")
HANDLE_BYTES = 64
DIRECTION_BY_ADDRESS = 4  # cudaMemcpyDefault: the direction follows from the addresses
ENABLE_PEER_ACCESS = 1  # cudaIpcMemLazyEnablePeerAccess, the only flag that exists
FOR_ALL_CONTEXTS = 1  # cudaHostRegisterPortable
BUS_ID_BYTES = 32


class CudaError(OSError):
    """The CUDA runtime is missing or refused a call."""


class Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * HANDLE_BYTES)]


_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "cudaGetDeviceCount": (POINTER(c_int),),
    "cudaSetDevice": (c_int,),
    "cudaDeviceReset": (),
    "cudaDeviceGetPCIBusId": (c_char_p, c_int, c_int),
    "cudaDeviceGetByPCIBusId": (POINTER(c_int), c_char_p),
    "cudaDeviceCanAccessPeer": (POINTER(c_int), c_int, c_int),
    "cudaMemGetInfo": (POINTER(c_size_t), POINTER(c_size_t)),
    "cudaMalloc": (POINTER(c_void_p), c_size_t),
    "cudaFree": (c_void_p,),
    "cudaIpcGetMemHandle": (POINTER(Handle), c_void_p),
    "cudaIpcOpenMemHandle": (POINTER(c_void_p), Handle, c_uint),
    "cudaIpcCloseMemHandle": (c_void_p,),
    "cudaMemcpyAsync": (c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "cudaStreamSynchronize": (c_void_p,),
    "cudaHostRegister": (c_void_p, c_size_t, c_uint),
    "cudaHostUnregister": (c_void_p,),
    "cudaGetLastError": (),
}


class Runtime:
    """One loaded library. A device number is valid only in this process; a bus id is valid everywhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self._library = ctypes.CDLL(name)
            for function, arguments in _ARGUMENTS.items():
                getattr(self._library, function).argtypes = arguments
            self._library.cudaGetErrorString.restype = c_char_p
        except (OSError, AttributeError) as error:
            raise CudaError(f"{name} is not a CUDA runtime: {error}") from error

    def count(self) -> int:
        number = c_int()
        self._call("cudaGetDeviceCount", byref(number))
        return number.value

    def use(self, device: int) -> None:
        """Selects this thread's device: allocations, handles and queries that follow refer to it."""
        self._call("cudaSetDevice", device)

    def leave(self) -> None:
        """Frees everything that this process has on the selected device, including the runtime's own memory."""
        self._call("cudaDeviceReset")

    def bus_id(self, device: int) -> str:
        text = ctypes.create_string_buffer(BUS_ID_BYTES)
        self._call("cudaDeviceGetPCIBusId", text, BUS_ID_BYTES, device)
        return text.value.decode(errors="replace")

    def device_of(self, bus_id: str) -> int | None:
        """Number of the device with this bus id; None if this process does not see it."""
        number = c_int()
        try:
            self._call("cudaDeviceGetByPCIBusId", byref(number), bus_id.encode())
        except CudaError:
            return None
        return number.value

    def reaches(self, device: int, other: int) -> bool:
        can = c_int()
        self._call("cudaDeviceCanAccessPeer", byref(can), device, other)
        return bool(can.value)

    def free_bytes(self) -> int:
        free, total = c_size_t(), c_size_t()
        self._call("cudaMemGetInfo", byref(free), byref(total))
        return free.value

    def allocate(self, size: int) -> int:
        pointer = c_void_p()
        self._call("cudaMalloc", byref(pointer), size)
        return pointer.value or 0

    def free(self, pointer: int) -> None:
        self._call("cudaFree", pointer)

    def handle(self, pointer: int) -> bytes:
        """A handle with which another process opens the memory."""
        made = Handle()
        self._call("cudaIpcGetMemHandle", byref(made), pointer)
        return bytes(made)

    def open(self, handle: bytes) -> int:
        pointer = c_void_p()
        self._call("cudaIpcOpenMemHandle", byref(pointer), Handle.from_buffer_copy(handle), ENABLE_PEER_ACCESS)
        return pointer.value or 0

    def close(self, pointer: int) -> None:
        self._call("cudaIpcCloseMemHandle", pointer)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copies on the default stream; the copy is complete when `wait` returns."""
        if size:
            self._call("cudaMemcpyAsync", to, source, size, DIRECTION_BY_ADDRESS, None)

    def wait(self) -> None:
        self._call("cudaStreamSynchronize", None)

    def lock(self, address: int, size: int) -> None:
        self._call("cudaHostRegister", address, size, FOR_ALL_CONTEXTS)

    def unlock(self, address: int) -> None:
        self._call("cudaHostUnregister", address)

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            self._library.cudaGetLastError()
            words = self._library.cudaGetErrorString(code) or b""
            raise CudaError(f"{function}: {words.decode(errors='replace')} ({code})")


def open_runtime() -> Runtime:
    """Opens the runtime that HOLDFAST_CUDART names, that torch has loaded, or that the machine has; it must see a
    GPU."""
    given = os.environ.get("HOLDFAST_CUDART")
    for name in [given] if given else [*_loaded(), *NAMES, *_beside_torch()]:
        try:
            runtime = Runtime(name)
        except CudaError:
            if given:
                raise
            continue
        if not runtime.count():
            raise CudaError(f"{name} sees no GPU")
        return runtime
    raise CudaError("no libcudart was found")


def _loaded() -> list[str]:
    """The library that is loaded already: two libraries would each have a last error and a selected device of their
    own."""
    lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    paths = {line.partition("/")[2] for line in lines if "/libcudart.so" in line}
    return sorted(f"/{path}" for path in paths)


def _beside_torch() -> list[str]:
    """Path of the runtime that pip installs with torch."""
    folders = [Path(folder) / "nvidia" for folder in sys.path]
    return sorted(str(path) for folder in folders for path in folder.glob("*/lib/libcudart.so.*"))
