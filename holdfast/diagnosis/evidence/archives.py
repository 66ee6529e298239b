"""Members of an archive (tar, compressed tar, zip) as byte streams. Nothing is unpacked to disk."""

import gzip
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from holdfast.node.sources.jobs import log_file
from holdfast.runtime import archive as archive_file

MOST_MEMBERS = 20_000
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


def is_one(file: Path) -> bool:
    name = file.name.lower()
    return name.endswith((*_TAR, ".zip"))


def members(file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(name, bytes) of each regular file in archive order. Raises Unreadable if the archive is damaged."""
    try:
        growth = log_file.Growth(file)
        yield from _of_zip(file, growth) if file.name.lower().endswith(".zip") else _of_tar(file, growth)
    except archive_file.DAMAGE as error:
        raise log_file.Unreadable(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def _of_tar(file: Path, growth: log_file.Growth) -> Iterator[tuple[str, Iterator[bytes]]]:
    with archive_file.opened(file, "r|*") as archive:
        for member in archive_file.members(archive, MOST_MEMBERS, log_file.FREE_BYTES):
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield member.name, _chunks(member.name, stream, growth)
            if growth.spent:  # to look for the next member would unpack the rest
                return


def _of_zip(file: Path, growth: log_file.Growth) -> Iterator[tuple[str, Iterator[bytes]]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist()[:MOST_MEMBERS]:
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, _chunks(member.filename, stream, growth)
            if growth.spent:
                return


def _chunks(name: str, stream: IO[bytes], growth: log_file.Growth) -> Iterator[bytes]:
    plain = cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if name.lower().endswith(".gz") else stream
    try:
        while chunk := plain.read(log_file.CHUNK_BYTES):
            growth.take(len(chunk))
            yield chunk
    except archive_file.DAMAGE as error:
        raise log_file.Unreadable(f"{name}: {getattr(error, 'strerror', None) or error}") from None
