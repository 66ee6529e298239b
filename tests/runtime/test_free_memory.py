"""Free memory goes back to the system again and again, not in the event loop."""

import asyncio
import subprocess
import sys
import threading

import pytest

from holdfast.runtime.free_memory import TRIM_SECONDS, return_free_memory, trimmer


def test_it_is_returned_every_time_and_in_another_thread() -> None:
    asked: list[tuple[int, bool]] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > 2:
            raise asyncio.CancelledError

    def trim(left: int) -> None:
        asked.append((left, threading.current_thread() is threading.main_thread()))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(return_free_memory(trim, sleep))
    assert asked == [(0, False)] * 2
    assert pauses == [TRIM_SECONDS] * 3


def test_the_library_of_this_machine_can_be_asked() -> None:
    trim = trimmer()
    assert trim is None or trim(0) in (0, 1)


def test_one_arena_serves_every_thread() -> None:
    """In a process of its own: the setting holds until the end of one."""
    program = (
        "import ctypes, threading\n"
        "from holdfast.runtime.free_memory import use_one_arena\n"
        "use_one_arena()\n"
        "take = ctypes.CDLL(None).malloc\n"
        "take.restype = ctypes.c_void_p\n"
        "places = []\n"
        "thread = threading.Thread(target=lambda: places.append(take(1000)))\n"
        "thread.start(); thread.join()\n"
        "heap = next(line for line in open('/proc/self/maps') if '[heap]' in line).split()[0].split('-')\n"
        "print(int(heap[0], 16) <= places[0] < int(heap[1], 16))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True" or trimmer() is None
