"""Returns unused memory to the operating system.

A TLS handshake leaves free pages between buffers that stay for as long as the connection: with 12,500 agents that is
half of what they hold. By itself, the C library returns only free memory at the end of its heap.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable

TRIM_SECONDS = 15.0
M_ARENA_MAX = -8  # of mallopt(3)
Trim = Callable[[int], object]


def trimmer() -> Trim | None:
    """The function malloc_trim; None if the C library is not glibc."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def use_one_arena() -> None:
    """Makes all threads allocate from one heap; call it before the first thread starts. With one heap per thread, the
    writer of a large fleet alone keeps 64 MB. Python threads rarely allocate at the same moment."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(M_ARENA_MAX, 1)


async def return_free_memory(trim: Trim, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Runs in a thread, so that the event loop continues."""
    while True:
        await sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
