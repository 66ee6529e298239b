"""Opens files in any packing: plain, gzip, xz, bzip2, zip, folder, tar. Archive bombs are refused."""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from holdfast.model.refusal import Refusal
from holdfast.node.sources.jobs import log_file
from holdfast.runtime import archive as archive_file

MOST_BYTES = 256 << 20
MOST_IN_FOLDER = 4 * MOST_BYTES
MOST_FILES = 5_000
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ": lzma.open, b"BZh": bz2.open}


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of every file in a place. Raises Refusal in one sentence."""
    try:
        if path.is_dir():
            yield from _folder(path)
        elif path.exists() and not path.is_file():  # a pipe can be read only once
            with path.open("rb") as pipe:
                yield path.name, decode(_unpacked(_bounded(pipe.read(MOST_BYTES + 1), str(path))))
        elif archive_file.is_tar(path):
            yield from _tar(path)
        elif zipfile.is_zipfile(path):
            yield from _zip(path)
        else:
            yield path.name, decode(_bytes(path))
    except FileNotFoundError:
        raise Refusal(f"{path}: no such file") from None
    except archive_file.DAMAGE as error:
        raise Refusal(f"{path}: cannot be read: {error or type(error).__name__}") from None


def _bytes(path: Path) -> bytes:
    with path.open("rb") as plain:
        head = plain.read(6)
    opener: Callable[..., Any] = next((one for magic, one in _OPENERS.items() if head.startswith(magic)), open)
    with opener(path, "rb") as file:
        return _bounded(file.read(MOST_BYTES + 1), str(path))


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} is larger than {MOST_BYTES >> 20} MB")
    return data


def _folder(path: Path) -> Iterator[tuple[str, str]]:
    left = MOST_IN_FOLDER
    for one in sorted(log_file.files_below(path))[:MOST_FILES]:
        data = _bytes(one)
        left = _left(left, data, MOST_IN_FOLDER)
        yield str(one.relative_to(path)), decode(data)


def _tar(path: Path) -> Iterator[tuple[str, str]]:
    left = MOST_BYTES
    with archive_file.opened(path, "r:*") as archive:
        for member in archive_file.members(archive, MOST_FILES, MOST_BYTES):
            if member.isfile() and (file := archive.extractfile(member)):
                data = _unpacked(file.read(left + 1), left)
                left = _left(left, data)
                yield member.name, decode(data)


def _zip(path: Path) -> Iterator[tuple[str, str]]:
    left = MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist()[:MOST_FILES]:
            with archive.open(name) as file:
                data = _unpacked(file.read(left + 1), left)
            left = _left(left, data)
            yield name, decode(data)


def _left(left: int, data: bytes, most: int | None = None) -> int:
    """Remaining unpacked bytes, of the limit for all files of a place."""
    if len(data) > left:
        raise ValueError(f"it holds more than {(most or MOST_BYTES) >> 20} MB")
    return left - len(data)


def _unpacked(data: bytes, most: int = MOST_BYTES) -> bytes:
    """Unpacks a compressed log inside an archive, up to one byte more than allowed."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    return zlib.decompressobj(wbits=31).decompress(data, most + 1)


def decode(data: bytes) -> str:
    """Decodes UTF-8, or UTF-16 with a byte order mark, as nvidia-smi on Windows writes with PowerShell redirection."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
