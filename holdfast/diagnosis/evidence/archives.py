"""Members of an archive (tar, compressed tar, zip) as byte streams. Nothing is unpacked to disk."""

import gzip
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from holdfast.node.sources.jobs import log_file

MOST_MEMBERS = 20_000
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_DAMAGE = (*log_file.DAMAGE, tarfile.TarError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


def is_one(file: Path) -> bool:
    name = file.name.lower()
    return name.endswith((*_TAR, ".zip"))


def members(file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(name, bytes) of each regular file, in the order of the archive; Unreadable says why there are no more."""
    try:
        yield from _of_zip(file) if file.name.lower().endswith(".zip") else _of_tar(file)
    except _DAMAGE as error:
        raise log_file.Unreadable(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _of_tar(file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    with tarfile.open(file, "r|*") as archive:
        for number, member in enumerate(archive):
            if number >= MOST_MEMBERS:
                return
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name, _chunks(member.name, stream)


def _of_zip(file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist()[:MOST_MEMBERS]:
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, _chunks(member.filename, stream)


def _chunks(name: str, stream: IO[bytes]) -> Iterator[bytes]:
    plain = cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if name.lower().endswith(".gz") else stream
    while chunk := plain.read(log_file.CHUNK_BYTES):
        yield chunk
