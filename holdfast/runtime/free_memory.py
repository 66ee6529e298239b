"""Returns memory that nothing uses to the system.

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
    """None where the C library has no such function: only glibc does."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def use_one_arena() -> None:
    """All threads allocate from one heap, before the first of them starts. With one each, the writer of a large fleet
    alone keeps 64 MB of its own; threads that take turns at the interpreter rarely want memory at the same moment."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(M_ARENA_MAX, 1)


async def return_free_memory(trim: Trim, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Runs in a thread, so that the event loop continues."""
    while True:
        await sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
