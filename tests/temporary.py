"""Temporary files of the quick half lie in memory where it has room: a simulated node is 3,500 small files."""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 2**30


def keep_in_memory() -> None:
    """For this process and those it starts; who sets TMPDIR decides."""
    if "TMPDIR" not in os.environ and _has_room():
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def _has_room() -> bool:
    """Containers often give 64 MB that nothing may be executed from."""
    if not os.path.ismount(MEMORY) or not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return found.f_bavail * found.f_frsize >= ENOUGH_BYTES and not found.f_flag & os.ST_NOEXEC


def is_in_memory(path: Path) -> bool:
    return path.is_relative_to(MEMORY)
