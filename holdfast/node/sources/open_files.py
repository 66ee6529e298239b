"""Files of sysfs kept open: one pread instead of open, read, close, which costs eight times as much."""

import errno
import os
from collections.abc import Iterable

_SIZE = 4096  # sysfs never gives more than a page
_REFUSED = (errno.EINVAL, errno.EPERM, errno.EIO)
_REFUSED_SECONDS = 3600.0
_REOPEN = (errno.ENODEV, errno.ESTALE, errno.EBADF, errno.ENXIO)


class OpenFile:
    """Re-opened when the device behind it went away and came back."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def read(self) -> bytes:
        if self._fd >= 0:
            try:
                if raw := os.pread(self._fd, _SIZE, 0):
                    return raw
            except OSError as error:
                if error.errno not in _REOPEN:
                    raise
            self.close()
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        return os.pread(self._fd, _SIZE, 0)

    def attempt(self) -> bytes | str:
        """The bytes, or why there are none."""
        try:
            return self.read()
        except OSError as error:
            return error_text(error)

    def refresh(self) -> None:
        """Close a file that was replaced by another of the same name."""
        try:
            if self._fd >= 0 and os.fstat(self._fd).st_nlink == 0:
                self.close()
        except OSError:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


class CounterFile(OpenFile):
    """A counter of an adapter. A restricted PCI function refuses it and logs a kernel message each time, so a refused
    counter is not read again for an hour."""

    __slots__ = ("_refused_at", "_refused_why")

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._refused_at = 0.0
        self._refused_why = ""

    def attempt_at(self, now: float) -> bytes | str:
        """The bytes, or why there are none, now or at the last read."""
        if self._refused_why and now - self._refused_at < _REFUSED_SECONDS:
            return self._refused_why
        try:
            raw = self.read()
        except OSError as error:
            self._refused_why = error_text(error) if error.errno in _REFUSED else ""
            self._refused_at = now
            self.close()
            return error_text(error)
        self._refused_why = ""
        return raw


def close_all(files: Iterable[OpenFile]) -> None:
    for file in files:
        file.close()


def error_text(error: OSError) -> str:
    """An operating-system error in a few words: 'permission denied'."""
    return (error.strerror or str(error)).lower()


def read_text(path: str) -> str:
    """A small file read once; OSError when it cannot be."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, _SIZE).decode("ascii", "backslashreplace").strip()
    finally:
        os.close(descriptor)
