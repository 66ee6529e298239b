"""Returns memory that nothing uses to the system.

A TLS handshake leaves free pages between buffers that stay for as long as the connection: with 12,500 agents that is
half of what they hold. The C library returns only what is free at the end of its heap by itself.
"""

import asyncio
import ctypes
from collections.abc import Awaitable, Callable

TRIM_SECONDS = 15.0
Trim = Callable[[int], object]


def trimmer() -> Trim | None:
    """None where the C library has no such function: only glibc does."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


async def return_free_memory(trim: Trim, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """In a thread: the event loop goes on meanwhile."""
    while True:
        await sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
