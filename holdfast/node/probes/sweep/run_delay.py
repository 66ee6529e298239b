"""Run delay: how long this process was runnable without a CPU. The kernel counts it per thread."""

import glob
import os
from contextlib import suppress


class RunDelay:
    """Keeps its files open, because it is read around every small exchange."""

    def __init__(self) -> None:
        self._files: list[int] = []
        for path in glob.glob("/proc/self/task/*/schedstat"):
            with suppress(OSError):  # a thread that has ended
                self._files.append(os.open(path, os.O_RDONLY))

    def seconds(self) -> float:
        """Total of all threads since they started."""
        total = 0
        for file in self._files:
            with suppress(OSError, ValueError, IndexError):
                total += int(os.pread(file, 64, 0).split()[1])
        return total / 1e9

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []
