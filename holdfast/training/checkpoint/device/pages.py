"""Page-locked host memory, which a GPU copies without a staging buffer."""

import ctypes
import logging
from contextlib import suppress
from typing import Any

from holdfast.training.checkpoint.device.runtime import CudaError, Runtime
from holdfast.training.checkpoint.keeper.memory import Pages

LOG = logging.getLogger(__name__)

Buffer = Any  # whatever has the buffer interface and can be written: an mmap, a bytearray


def address_of(buffer: Buffer) -> int:
    """Where the buffer lies; only as long as somebody keeps it."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def lock(runtime: Runtime, pages: Pages) -> None:
    """Once for each buffer, which is used again and again. Where it cannot be had, copies take longer, and no more."""
    if pages.before_close is not None:
        return
    address = address_of(pages.map)

    def unlock() -> None:
        with suppress(CudaError):  # the device may be lost by now
            runtime.unlock(address)

    try:
        runtime.lock(address, pages.size)
        pages.before_close = unlock
    except CudaError as error:
        pages.before_close = _nothing
        LOG.warning("%d bytes are not page-locked: %s", pages.size, error)


def _nothing() -> None:
    """It was tried, and is not tried again."""
