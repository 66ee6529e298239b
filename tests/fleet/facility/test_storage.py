"""A real folder, one that cannot be written, and one that does not answer."""

import os
from pathlib import Path

import pytest

from holdfast.fleet.facility import storage
from holdfast.fleet.facility.storage import StorageSettings, StorageSource


def _source(path: Path, timeout: float = 30.0) -> StorageSource:
    return StorageSource(StorageSettings(subject="storage/lustre1", path=str(path), timeout=timeout))


def test_a_folder_reports_its_times_and_is_left_as_it_was(tmp_path: Path) -> None:
    reading = _source(tmp_path).read(5.0)
    reported = {one.name: one.value for one in reading.signals}
    assert not reading.blind and set(reported) == {storage.LATENCY, storage.METADATA, storage.USED}
    assert all(isinstance(value, float) and value >= 0 for value in reported.values())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_blind_and_says_why(tmp_path: Path) -> None:
    assert "No such file" in _source(tmp_path / "gone").read(5.0).blind


def test_one_that_hangs_is_blind_within_its_time_and_has_one_child_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child waits on a pipe that no one writes to, as one waits on a dead server."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(storage, "_PROBE", "import sys; open(sys.argv[1] + '/pipe').read()")
    source = _source(tmp_path, timeout=0.2)
    assert "has not answered" in source.read(5.0).blind
    assert len(source._out) <= 1


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"subject": "node/n1", "path": "/x"}, "storage/lustre1"),
        ({"subject": "storage/a", "path": "x"}, "begins with /"),
        ({"subject": "storage/a", "path": "/x", "bytes": 0}, "bytes: expected 1"),
        ({"subject": "storage/a", "path": "/x", "timeout": 0.0}, "timeout: expected"),
    ],
)
def test_wrong_settings_are_refused(facts: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        StorageSettings(**facts)  # type: ignore[arg-type]
