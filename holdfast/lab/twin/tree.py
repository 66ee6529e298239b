"""Files and links of a simulated tree; processes with open descriptors see changes.

A sysfs file keeps its inode for life, and readers keep descriptors open and use pread. So a change is one pwrite in
place followed by a truncate to the new length, never a new file renamed over the old one.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def write_in_place(path: str | Path, text: str) -> None:
    """Replaces the content of a file without replacing the file."""
    replace_in_place(path, text.encode())


def replace_in_place(path: str | Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def append(path: Path, text: str) -> None:
    """Appends to a file in a single write, so that readers see whole lines."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


class Tree:
    """A directory tree that is being filled: /sys, /proc or another root of the simulated node."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, path: str, text: str) -> None:
        place = os.path.join(self.root, path)
        _in_its_directory(place, lambda: write_in_place(place, text))

    def directory(self, path: str) -> None:
        os.makedirs(os.path.join(self.root, path), exist_ok=True)

    def link(self, path: str, to: str) -> None:
        """Creates a relative symbolic link between two paths of this tree."""
        place = os.path.join(self.root, path)
        with suppress(FileNotFoundError):
            os.unlink(place)
        target = os.path.relpath(os.path.join(self.root, to), os.path.dirname(place))
        _in_its_directory(place, lambda: os.symlink(target, place))


def _in_its_directory(place: str, write: Callable[[], None]) -> None:
    """Writes a file and creates its directory only if it is missing, because a node has thousands of files in
    hundreds of directories."""
    try:
        write()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write()
