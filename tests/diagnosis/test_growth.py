"""A small file that unpacks, or pretends by holes, to petabytes ends its own reading and no other."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.diagnosis.evidence import files
from holdfast.node.sources.jobs import log_file

CHUNK = 16 * 1024
FREE = 4 * CHUNK
PETABYTE = 1 << 50


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(log_file, "FREE_BYTES", FREE)


def holes_in_a_tar(path: Path) -> Path:
    """GNU tar's format of sparse files: a map without any data, and a size."""
    member = tarfile.TarInfo("rank0.log")
    sparse = {"major": "1", "minor": "0", "name": "rank0.log", "realsize": str(PETABYTE)}
    member.pax_headers = {f"GNU.sparse.{name}": value for name, value in sparse.items()}
    nothing = b"0\n".ljust(512, b"\0")
    member.size = len(nothing)
    with tarfile.open(path / "holes.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member, io.BytesIO(nothing))
    return path / "holes.tar"


def holes_in_a_file(path: Path) -> Path:
    file = path / "rank0.log"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    return file


def zeros_in_a_zip(path: Path) -> Path:
    with zipfile.ZipFile(path / "zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rank0.log", bytes(400 * FREE))
    return path / "zeros.zip"


def packed_twice(path: Path) -> Path:
    packed = gzip.compress(bytes(400 * FREE), 9)
    with tarfile.open(path / "twice.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("rank0.log.gz")
        member.size = len(packed)
        archive.addfile(member, io.BytesIO(packed))
    return path / "twice.tar.gz"


def packed_once(path: Path) -> Path:
    (path / "once.log.gz").write_bytes(gzip.compress(bytes(400 * FREE), 9))
    return path / "once.log.gz"


@pytest.mark.parametrize("make", [holes_in_a_tar, holes_in_a_file, zeros_in_a_zip, packed_twice, packed_once])
def test_reading_ends(make: Callable[[Path], Path], tmp_path: Path) -> None:
    found, trouble = files.read(make(tmp_path))
    assert "100 times its size; the rest is not read" in trouble
    assert found == []


def test_a_log_of_its_own_size_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "rank0.log"
    file.write_bytes(b"step 1 loss 2.0\n" * (8 * FREE // 16))
    assert sum(map(len, log_file.chunks(file))) == 8 * FREE
    (tmp_path / "packed.log.gz").write_bytes(gzip.compress(file.read_bytes()[:FREE]))
    assert sum(map(len, log_file.chunks(tmp_path / "packed.log.gz"))) == FREE


def test_a_damaged_member_is_named_and_the_next_is_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        for name, data in (("a.log.gz", b"not gzip"), ("b.log", b"NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    found, trouble = files.read(tmp_path / "logs.tar")
    assert trouble.startswith("a.log.gz: ")
    assert [one.event.code for one in found] == [48]
