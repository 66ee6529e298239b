"""Reads untrusted tar files with bounded headers, and skips members in bounded time.

`tarfile` reads a long name and an extended header whole, and unpacks every member that it skips. So a few kilobytes of
gzip can take all memory, or hours.
"""

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

LARGEST_HEADER = 1 << 20
DAMAGE: tuple[type[Exception], ...] = (
    OSError, EOFError, ValueError, LookupError, ArithmeticError, RuntimeError,  # of which: encrypted, unknown, nested
    zlib.error, lzma.LZMAError, struct.error, tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile,
)  # fmt: skip
"""What reading a damaged or hostile archive may raise."""
_READ_WHOLE = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip


class SmallHeaders(tarfile.TarInfo):
    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        """The method that the standard library leaves to subclasses."""
        if self.type in _READ_WHOLE and self.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"it has a header of {self.size} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


@contextmanager
def opened(path: Path, mode: Literal["r:*", "r|*"]) -> Iterator[tarfile.TarFile]:
    with tarfile.open(path, mode, tarinfo=SmallHeaders) as archive:
        yield archive


def is_tar(path: Path) -> bool:
    try:
        with opened(path, "r:*"):
            return True
    except DAMAGE:
        return False


def members(
    archive: tarfile.TarFile, most: int, most_bytes: int, *, files_too: bool = False
) -> Iterator[tarfile.TarInfo]:
    """At most `most` members. Raises ReadError before it skips more than the allowed bytes. Bytes of files count only
    with `files_too`, because the reader of a file has its own bound."""
    left = most_bytes
    for member, _ in zip(archive, range(most), strict=False):
        yield member
        left -= member.size if files_too or not member.isfile() else 0
        if left < 0:
            raise tarfile.ReadError(f"it unpacks to more than {most_bytes >> 20} MB")
