"""Page-locked host memory, to which a GPU copies without a staging buffer."""

import ctypes
import logging
from contextlib import suppress
from typing import Any

from holdfast.training.checkpoint.device.runtime import CudaError, Runtime
from holdfast.training.checkpoint.keeper.memory import Pages

LOG = logging.getLogger(__name__)

Buffer = Any  # any writable object with the buffer interface: an mmap, a bytearray


def address_of(buffer: Buffer) -> int:
    """Address of the buffer, valid while a reference to the buffer exists."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def lock(runtime: Runtime, pages: Pages) -> None:
    """Page-locks a buffer once; buffers are reused. Without page locks, copies only take longer."""
    if pages.before_close is not None:
        return
    address = address_of(pages.map)

    def unlock() -> None:
        with suppress(CudaError):  # the device may have been lost
            runtime.unlock(address)

    try:
        runtime.lock(address, pages.size)
        pages.before_close = unlock
    except CudaError as error:
        pages.before_close = _nothing
        LOG.warning("%d bytes are not page-locked: %s", pages.size, error)


def _nothing() -> None:
    """Marks a failed attempt, which is not repeated."""
