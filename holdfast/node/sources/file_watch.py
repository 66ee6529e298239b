"""Waits for a file to grow with inotify on the file and its directory."""

import ctypes
import os
import select
from contextlib import suppress

_IN_MODIFY, _IN_ATTRIB, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE_SELF, _IN_MOVE_SELF = 0x2, 0x4, 0x80, 0x100, 0x400, 0x800
_OF_THE_FILE = _IN_MODIFY | _IN_ATTRIB | _IN_DELETE_SELF | _IN_MOVE_SELF
_OF_THE_FOLDER = _IN_CREATE | _IN_MOVED_TO
_FALLBACK_SECONDS = 1.0  # polling interval if no inotify instance is available


class FileWatch:
    """Wakes when a file may have new content, also if it does not exist yet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.watch()

    def watch(self) -> None:
        """(Re)attach to the file that is at the path now; the same file is not watched twice."""
        if self._fd < 0:
            return
        folder = os.path.dirname(self._path) or "."
        self._libc.inotify_add_watch(self._fd, os.fsencode(folder), _OF_THE_FOLDER)
        self._libc.inotify_add_watch(self._fd, os.fsencode(self._path), _OF_THE_FILE)

    def wait(self, seconds: float) -> bool:
        """Whether something happened before the time was up."""
        poller = select.poll()
        if self._fd < 0:
            poller.poll(int(min(seconds, _FALLBACK_SECONDS) * 1000))
            return True
        poller.register(self._fd, select.POLLIN)
        if not poller.poll(max(int(seconds * 1000), 0)):
            return False
        with suppress(BlockingIOError):
            while os.read(self._fd, 65536):
                pass
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
