"""NVML session: loads and initialises the library, lists GPUs, and detects lost ones.

GPUs keep their number for as long as this process lives. NVML renumbers them when the driver is restarted with one
card missing; a verdict must not move to the neighbour, so numbers follow the PCI address.
"""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pynvml

from holdfast.model.subject import Subject, gpu
from holdfast.node.sources.gpu.isolation import Isolation

nvml: Any = pynvml  # the vendor's binding carries no types
NVML_ERRORS: tuple[type[Exception], ...] = (
    nvml.NVMLError,
    nvml.NVMLLibraryMismatchError,
    UnicodeDecodeError,  # a string the driver filled with something that is not text
)
LIST_AGAIN_SECONDS = 300.0
LIST_SECONDS = 2.0  # timeout for the identity of a GPU
HANGS = "a call to this GPU has not returned"
LOST = "the GPU is lost: the driver can no longer reach it"

NOT_THE_GPU = (None, nvml.NVML_ERROR_NO_PERMISSION, nvml.NVML_ERROR_RESET_REQUIRED, nvml.NVML_ERROR_UNINITIALIZED)
"""Errors that say nothing against the GPU, or have a check of their own."""

_BLIND = {
    nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "the NVIDIA driver library (libnvidia-ml.so.1) was not found",
    nvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded",
    nvml.NVML_ERROR_NO_PERMISSION: "no permission to talk to the NVIDIA driver (/dev/nvidiactl cannot be opened)",
    nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        "the NVIDIA driver library and the loaded kernel driver have different versions: "
        "finish the driver update (reboot or reload the driver), then restart the agent"
    ),
    nvml.NVML_ERROR_FUNCTION_NOT_FOUND: "the NVIDIA driver library is too old",
}


@dataclass(slots=True)
class NvmlDevice:
    """One GPU as this process knows it."""

    subject: Subject
    number: int
    address: str = ""
    handle: Any = None
    index: int = -1  # as the driver counts now
    mig: bool = False
    lost: bool = False
    trouble: str = ""  # why it has no handle
    sick: bool = False  # present, but no call succeeds


class _Identity(NamedTuple):
    handle: Any
    address: str
    mig: bool


def code_of(error: Exception) -> int | None:
    """NVML's code of an error, or None for an error of the binding itself."""
    return getattr(error, "value", None)


def pci_address(info: Any) -> str:
    """An NVML PCI record in the kernel's spelling: 0000:9b:00.0."""
    return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}.0"


class _Hangs(nvml.NVMLError):  # type: ignore[misc]
    """A call that did not return; NVML's own timeout error has the same code."""


class Session:
    """Used by one thread. Driver errors are never raised."""

    def __init__(self, node: str, library: str = "", exclude: Iterable[str] = ()) -> None:
        self._node = node
        self._library = library
        self._exclude = frozenset(address.lower() for address in exclude)
        self._loaded = not library
        self._started = False
        self._count = -1
        self._listed_at = 0.0
        self._known: dict[int, NvmlDevice] = {}
        self._isolation = Isolation()
        self.excluded: frozenset[str] = frozenset()  # devices of the exclude list that exist

    def devices(self, now: float) -> list[NvmlDevice] | str:
        """Every GPU, present or lost, by number; or one sentence why none can be read."""
        if trouble := self._start():
            return trouble
        try:
            count = nvml.nvmlDeviceGetCount()
        except NVML_ERRORS as error:
            self._stop()
            return _sentence(error)
        due = not 0 <= now - self._listed_at < LIST_AGAIN_SECONDS
        if count != self._count or due or any(device.handle is None for device in self._known.values()):
            self._list(count)
            self._count, self._listed_at = count, now
        if not self._known:
            return "the NVIDIA driver lists no GPU"
        return [self._known[number] for number in sorted(self._known)]

    def mark_lost(self, device: NvmlDevice) -> None:
        """Mark the GPU as gone; the next read searches for it again."""
        device.handle, device.lost, device.trouble = None, True, LOST

    def _start(self) -> str:
        if not self._loaded:
            try:
                _bind(self._library)
            except OSError as error:
                return f"the NVIDIA driver library {self._library} cannot be loaded: {error}"
            self._loaded = True
        if not self._started:
            try:
                nvml.nvmlInit()
            except NVML_ERRORS as error:
                return _sentence(error)
            self._started = True
        return ""

    def _stop(self) -> None:
        """Drop all handles, so that the next read starts a new session with a reloaded driver."""
        self._started, self._count = False, -1
        try:
            nvml.nvmlShutdown()
        except NVML_ERRORS:
            return  # it was not running, so the shutdown may fail

    def _list(self, count: int) -> None:
        answering, silent, excluded = [], [], set()
        found = self._isolation.run({index: partial(_identify, index) for index in range(count)}, LIST_SECONDS)
        for index in range(count):
            identity = found.get(index) or _Hangs(nvml.NVML_ERROR_TIMEOUT)
            if isinstance(identity, Exception):
                silent.append((index, identity))
            elif identity.address in self._exclude:
                excluded.add(identity.address)
            else:
                answering.append((index, identity))
        self.excluded = frozenset(excluded)
        seen = {self._answering(index, identity) for index, identity in answering}
        for index, refusal in silent:
            seen.add(self._silent(index, refusal, seen))
        for number, device in self._known.items():
            if number not in seen:
                device.handle, device.lost = None, True
                device.trouble = (
                    f"the NVIDIA driver no longer lists the GPU that was at {device.address or 'this place'}"
                )

    def _answering(self, index: int, found: _Identity) -> int:
        known = next((device for device in self._known.values() if device.address == found.address), None)
        number = known.number if known else self._free_number(index)
        self._known[number] = NvmlDevice(
            gpu(self._node, number), number, found.address, found.handle, mig=found.mig, index=index
        )
        return number

    def _silent(self, index: int, error: Exception, seen: set[int]) -> int:
        """A GPU without an identity: most likely the one that is missing at its old number."""
        missing = [number for number in self._known if number not in seen]
        number = index if index in missing or (not missing and index not in self._known) else -1
        if number < 0:
            number = missing[0] if missing else self._free_number(index)
        address = self._known[number].address if number in self._known else ""
        code = code_of(error)
        lost = code == nvml.NVML_ERROR_GPU_IS_LOST
        trouble = LOST if lost else HANGS if isinstance(error, _Hangs) else f"the driver cannot open this GPU: {error}"
        sick = not lost and code not in NOT_THE_GPU
        self._known[number] = NvmlDevice(
            gpu(self._node, number), number, address, lost=lost, trouble=trouble, sick=sick, index=index
        )
        return number

    def _free_number(self, index: int) -> int:
        """The driver's number of the GPU, unless another GPU has it."""
        holder = self._known.get(index)
        return index if holder is None or not holder.address else max(self._known) + 1


def _identify(index: int) -> _Identity | Exception:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        return _Identity(handle, pci_address(nvml.nvmlDeviceGetPciInfo(handle)), _mig_enabled(handle))
    except NVML_ERRORS as error:
        return error


def _bind(path: str) -> None:
    """Make the binding use this library; by default it uses the first libnvidia-ml.so.1 that is loaded."""
    if getattr(nvml.nvmlLib, "_name", None) != path:
        nvml.nvmlLib = ctypes.CDLL(path)
        nvml._nvmlGetFunctionPointer_cache.clear()


def _mig_enabled(handle: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except NVML_ERRORS:
        return False  # a GPU that cannot be split


def _sentence(error: Exception) -> str:
    return _BLIND.get(code_of(error) or 0, f"the NVIDIA driver does not answer: {error}")
