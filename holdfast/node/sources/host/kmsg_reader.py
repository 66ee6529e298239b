"""Readers of kernel messages: the ring buffer behind /dev/kmsg, or a growing file."""

import os
import select
from contextlib import suppress
from typing import Protocol

from holdfast.node.sources.file_watch import FileWatch

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_RECORD_BYTES = 64 * 1024  # more than the kernel puts into one record
_MAX_RECORDS_PER_READ = 4_000
_MAX_BYTES_PER_READ = 512 * 1024  # a storm is read in pieces, because the process keeps its peak memory


class KmsgReader(Protocol):
    def drain(self) -> bytes:
        """The whole lines that are there now, without waiting. Bounded: the rest comes with the next call."""

    def wait(self, seconds: float) -> bool:
        """Waits until records may be available, or until the timeout."""

    def close(self) -> None: ...


class DeviceReader:
    """/dev/kmsg: one record per read, oldest first, so messages since boot are included, except those cleared with
    `dmesg -C`."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, _FLAGS)
        with suppress(OSError):
            os.lseek(self._fd, 0, os.SEEK_DATA)

    def drain(self) -> bytes:
        records = []
        for _ in range(_MAX_RECORDS_PER_READ):
            try:
                records.append(os.read(self._fd, _RECORD_BYTES))
            except BlockingIOError:
                break
            except BrokenPipeError:  # overwritten before the read: the gap in sequence numbers shows how many
                continue
        return b"".join(records)

    def wait(self, seconds: float) -> bool:
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        return bool(poller.poll(max(int(seconds * 1000), 0)))

    def close(self) -> None:
        os.close(self._fd)


class FileReader:
    """An ordinary file that grows. Truncation starts it over; after a rotation the new file is read from its start."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = os.open(path, _FLAGS)
        self._offset = 0
        self._more = True
        self._watch = FileWatch(path)

    def drain(self) -> bytes:
        if os.fstat(self._fd).st_size < self._offset:
            self._offset = 0
        data = os.pread(self._fd, _MAX_BYTES_PER_READ, self._offset)
        self._more = len(data) == _MAX_BYTES_PER_READ
        if not self._more:  # a line still being written is left for later
            data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        if not data and self._rotated():
            return self.drain()
        return data

    def _rotated(self) -> bool:
        """Whether another file is at the path now; if so, it is opened."""
        try:
            there, mine = os.stat(self._path), os.fstat(self._fd)
        except FileNotFoundError:  # moved away, the new one not yet made: the old may still be written to
            return False
        if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
            return False
        os.close(self._fd)
        self._fd = os.open(self._path, _FLAGS)
        self._offset = 0
        self._watch.watch()
        return True

    def wait(self, seconds: float) -> bool:
        return self._more or self._watch.wait(seconds)

    def close(self) -> None:
        os.close(self._fd)
        self._watch.close()
