"""Archives that somebody else made: a small file that unpacks to much, or never ends, is refused."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from holdfast.model.refusal import Refusal
from holdfast.node.capture import files, plain_text


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 100_000)
    monkeypatch.setattr(files, "MOST_FILES", 50)


def tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.parametrize("packed", [False, True])
def test_all_files_together_are_bounded_unpacked(make: object, packed: bool, tmp_path: Path) -> None:
    log = b"x" * 60_000
    members = {f"{number}.log": gzip.compress(log) if packed else log for number in range(2)}
    with pytest.raises(Refusal, match="it holds more than"):
        list(files.texts(make(tmp_path / "a", members)))  # type: ignore[operator]
    assert list(files.texts(make(tmp_path / "b", dict(list(members.items())[:1])))) == [("0.log", log.decode())]  # type: ignore[operator]


def test_a_tar_of_endless_headers_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "a.tgz", {f"{number}.log": b"x" for number in range(500)})
    seen: list[int] = []
    following = tarfile.TarFile.next

    def counted(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        seen.append(1)
        return following(archive)

    monkeypatch.setattr(tarfile.TarFile, "next", counted)
    assert len(list(files.texts(path))) == 50
    assert len(seen) < 100


def test_names_that_lead_elsewhere_and_links_write_and_read_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo("link.log")
            link.type, link.linkname = kind, str(outside)
            archive.addfile(link)
        member = tarfile.TarInfo("../../escape.log")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    assert list(files.texts(path)) == [("../../escape.log", "x")]
    assert sorted(tmp_path.iterdir()) == [path, outside]


@pytest.mark.parametrize("empty", ["\n", "\r", "\r\n", " \t\n"])
def test_a_page_of_empty_lines_is_shortened_before_any_reader_sees_it(empty: str) -> None:
    text, _ = plain_text.with_bounded_lines("a" + "\n" + empty * 5_000 + "b\n")
    assert "".join(text.split()) == "ab" and text.count("\n") == plain_text.MOST_EMPTY_LINES + 2
    few = "a\n" + "\n" * plain_text.MOST_EMPTY_LINES + "b\n"
    assert plain_text.with_bounded_lines(few) == (few, 0)
