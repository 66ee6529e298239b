"""Archives, folders and files that a tenant left: they end in one sentence, in bounded time and memory."""

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.diagnosis.evidence import rank_files
from holdfast.diagnosis.evidence.files import read
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import bundle, files
from holdfast.node.sources.jobs import log_file
from holdfast.runtime import archive


def header(kind: bytes, size: int) -> bytes:
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def long_header(kind: bytes) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path = path.with_suffix(".tar.gz")
        path.write_bytes(gzip.compress(header(kind, 64 << 20) + bytes(64 << 20) + bytes(1024), 1))
        return path

    return make


def sparse(**records: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path = path.with_suffix(".tar")
        member = tarfile.TarInfo("a.log")
        member.pax_headers = {name.replace("_", "."): value for name, value in records.items()}
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as made:
            made.addfile(member)
        return path

    return make


def links_to_itself(path: Path) -> Path:
    path = path.with_suffix(".tgz")
    with tarfile.open(path, "w:gz") as made:
        for name in bundle.PARTS:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, name
            made.addfile(member)
    return path


def nested_headers(path: Path) -> Path:
    path = path.with_suffix(".tar")
    path.write_bytes((header(tarfile.GNUTYPE_LONGNAME, 1) + b"a".ljust(512, b"\0")) * 3_000 + bytes(1024))
    return path


def changed_zip(place: int, value: int) -> Callable[[Path], Path]:
    """A zip whose one member has another value at a place of its two headers."""

    def make(path: Path) -> Path:
        path = path.with_suffix(".zip")
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("a.log", "hello\n")
        data = bytearray(path.read_bytes())
        central = data.find(b"PK\x01\x02")
        data[place + 6 : place + 8] = data[central + place + 8 : central + place + 10] = struct.pack("<H", value)
        path.write_bytes(data)
        return path

    return make


HOSTILE = [
    pytest.param(long_header(tarfile.GNUTYPE_LONGNAME), id="long name of 64 MB"),
    pytest.param(long_header(tarfile.XHDTYPE), id="extended header of 64 MB"),
    pytest.param(sparse(GNU_sparse_size="abc", GNU_sparse_map="1,2"), id="sparse size"),
    pytest.param(sparse(GNU_sparse_map="x,y"), id="sparse map"),
    pytest.param(links_to_itself, id="links to themselves"),
    pytest.param(nested_headers, id="header in header"),
    pytest.param(changed_zip(0, 1), id="encrypted zip"),
    pytest.param(changed_zip(2, 77), id="unknown packing"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that is no longer taken for one is read as a text; that is bounded elsewhere."""
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)


@pytest.mark.parametrize("make", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_sentence(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "hostile")
    evidence, trouble = read(path)
    assert evidence == []
    assert "\n" not in trouble
    if not bundle.is_bundle(path):
        try:
            list(files.texts(path))
        except Refusal as refusal:
            assert "\n" not in str(refusal)
    with pytest.raises(Refusal):
        bundle.load(path)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_is_not_read_whole(kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(header(kind, archive.LARGEST_HEADER + 1))
    assert not archive.is_tar(path)
    with pytest.raises(tarfile.ReadError, match="header of"), archive.opened(path, "r|*"):
        pass


def test_names_of_a_usual_length_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    name = "folder/" * 100 + "a.log"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as made:
        member = tarfile.TarInfo(name)
        member.size = 1
        made.addfile(member, io.BytesIO(b"x"))
    assert list(files.texts(path)) == [(name, "x")]


@pytest.mark.parametrize("kind", [b"Z", tarfile.DIRTYPE])
def test_what_is_no_file_is_not_unpacked_without_end(
    kind: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(bundle, "MOST_PASSED", 1 << 20)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress((header(kind, 2 << 20) + bytes(2 << 20)) * 4 + bytes(1024), 1))
    assert "unpacks to more than 1 MB" in read(path)[1]
    with pytest.raises(Refusal, match="unpacks to more than 1 MB"):
        list(files.texts(path))
    assert not bundle.is_bundle(path)


def test_a_bundle_hidden_behind_much_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_PASSED", 1 << 20)
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as made:
        for name, size in ((bundle.HEAD, 2), ("raw/zeros", 2 << 20), (bundle.READINGS, 0), (bundle.CENSUS, 2)):
            member = tarfile.TarInfo(name)
            member.size = size
            made.addfile(member, io.BytesIO(bytes(size)))
    with pytest.raises(Refusal, match="unpacks to more than 1 MB"):
        bundle.load(path)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A job's folder with what must not be opened, and one log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("proc/kmsg", "proc/kcore", "proc/self/mem", "dev/zero", "sys/kernel/uevent_seqnum"):
        (folder / f"{name.replace('/', '-')}.log").symlink_to(f"/{name}")
    os.mkfifo(folder / "pipe.log")
    (folder / "real.log").write_text("hello\n")
    (folder / "linked.log").symlink_to(folder / "real.log")
    return folder


def test_a_folder_gives_its_files_and_nothing_of_the_kernel(logs: Path) -> None:
    assert [one.name for one in log_file.files_below(logs)] == ["linked.log", "real.log"]
    assert [name for name, _ in files.texts(logs)] == ["linked.log", "real.log"]


def test_a_folder_of_the_kernel_is_read_where_it_is_asked_for() -> None:
    below = Path("/proc/sys/kernel/random")
    assert below / "boot_id" in list(log_file.files_below(below))


def test_a_folder_is_bounded_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_IN_FOLDER", 3 << 20)
    for number in range(4):
        (tmp_path / f"{number}.log").write_bytes(b"x" * (1 << 20))
    with pytest.raises(Refusal, match="more than 3 MB"):
        list(files.texts(tmp_path))


def test_ranks_files_that_are_none_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "llama.0.jsonl").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "llama.1.jsonl")
    with pytest.raises(Refusal, match="none was found"):
        rank_files.read(str(tmp_path), "llama")


def test_a_ranks_file_of_holes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "FREE_BYTES", 1 << 20)
    with (tmp_path / "llama.0.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Refusal, match="times its size"):
        rank_files.read(str(tmp_path), "llama")


HEAD = b'{"format": 1, "node": "n", "captured_at": 1000000000}'
READING = {"source": "nvml", "at": 1e9}
ODD = [
    ({**READING, "events": [{"kind": "xid"}]}, {}),
    ({**READING, "events": [{"kind": "xid", "at": "x", "text": ""}]}, {}),
    ({**READING, "events": [{"kind": ["xid"], "at": 1.0, "text": ""}]}, {}),
    (READING, {"lacks": 5}),
    (READING, {"lacks": {"gpu": [1]}}),
    (READING, {"expect": {"gpu": 1}}),
]


@pytest.mark.parametrize(("reading", "census"), ODD)
def test_a_bundle_of_odd_values_is_refused(reading: dict[str, object], census: dict[str, object]) -> None:
    with pytest.raises(Refusal, match="bundle cannot be read"):
        bundle.parse(HEAD, json.dumps(reading).encode(), json.dumps(census).encode(), "x.tgz")


def test_a_bundle_of_any_events_is_judged() -> None:
    event = {"kind": "xid", "at": 1e9, "text": "t", "code": "x", "device": "y", "detail": {"a": -1e308}, "count": -5}
    signals = [["node/n/gpu/0", "gpu_temperature_celsius", "hot"], ["", "port_up", -1e308]]
    reading = json.dumps({**READING, "events": [event], "signals": signals, "every": -5, "deadline": 1e308}).encode()
    assert bundle.judge(bundle.parse(HEAD, reading, b"{}", "x.tgz"), Settings())
