"""Log files as chunks of bytes, with any compression. Nothing is loaded whole."""

import bz2
import gzip
import importlib
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, cast

CHUNK_BYTES = 256 * 1024
STDIN = "-"
FREE_BYTES = 1 << 30
MOST_GROWTH = 100  # most decompressed bytes per compressed byte; text of one repeated line reaches this ratio
_BLOCK_BYTES = 512
KERNEL = ("/proc/", "/sys/", "/dev/")
MEMORY = "/dev/shm/"  # ordinary files, although it is below /dev
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Unreadable(Exception):
    """Why a file could not be read (any further), as one sentence for a person."""


class Growth:
    """How much may be read out of one file. A few kilobytes can unpack, or pretend by holes, to petabytes."""

    def __init__(self, path: Path) -> None:
        about = path.stat() if str(path) != STDIN else None
        held = about.st_blocks * _BLOCK_BYTES if about and stat.S_ISREG(about.st_mode) else None
        self._path, self._left = path, None if held is None else FREE_BYTES + MOST_GROWTH * held

    @property
    def spent(self) -> bool:
        return self._left is not None and self._left < 0

    def take(self, size: int) -> None:
        if self._left is None:  # a pipe
            return
        self._left -= size
        if self._left < 0:
            why = f"it grows to more than {FREE_BYTES >> 30} GB and {MOST_GROWTH} times its size"
            raise Unreadable(f"{self._path}: {why}; the rest is not read")


def files_below(path: Path) -> Iterator[Path]:
    """The path itself, or every regular file below it in a stable order. Files of the kernel are read only below a
    path that is itself the kernel's: a link to /proc/kmsg among a job's logs would block forever and take messages
    from other readers."""
    if not path.is_dir():
        yield path
        return
    asked_for = _is_kernels(path)
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_file() and (asked_for or not _is_kernels(file)):
                yield file


def _is_kernels(path: Path) -> bool:
    real = os.path.realpath(path)
    return real.startswith(KERNEL) and not f"{real}/".startswith(MEMORY)


def chunks(path: Path) -> Iterator[bytes]:
    """The decompressed bytes of the file in pieces. Unreadable says why reading stopped."""
    try:
        with ExitStack() as stack:
            file, growth = _opened(path, stack), Growth(path)
            read = getattr(file, "read1", file.read)  # read1 returns the data before a damaged block
            while chunk := read(CHUNK_BYTES):
                growth.take(len(chunk))
                yield chunk
    except PermissionError:
        raise Unreadable(f"{path}: permission denied") from None
    except FileNotFoundError:
        raise Unreadable(f"{path}: no such file") from None
    except DAMAGE as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _opened(path: Path, stack: ExitStack) -> IO[bytes]:
    if str(path) == STDIN:
        return sys.stdin.buffer
    if stat.S_ISCHR(path.stat().st_mode) and str(path) != os.devnull:
        raise Unreadable(f"{path}: a device, not a log; pipe its text in, for example: dmesg | holdfast diagnose -")
    raw = stack.enter_context(path.open("rb"))
    return _decompressed(raw, path, stack)


def _decompressed(raw: IO[bytes], path: Path, stack: ExitStack) -> IO[bytes]:
    """Decompresses by the file's first bytes, because rotated logs have arbitrary names."""
    if not raw.seekable():
        return raw
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=raw)))
    if magic.startswith(b"BZh"):
        return stack.enter_context(bz2.BZ2File(raw))
    if magic == b"\xfd7zXZ\x00":
        return stack.enter_context(lzma.LZMAFile(raw))
    return _zstd(raw, path) if magic.startswith(_ZSTD_MAGIC) else raw


def _zstd(raw: IO[bytes], path: Path) -> IO[bytes]:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise Unreadable(f"{path}: zstd-compressed, and Python has no zstandard module here; unpack it first") from None
    return cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
