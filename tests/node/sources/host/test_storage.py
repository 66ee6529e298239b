"""Shared storage is asked from a child that may hang: one child per mount, and never our own thread."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.model.signal import Reading, Value
from holdfast.node.sources.host.storage import SharedStorageSource, _abandon
from tests.waiting import until

HANGS = ("sh", "-c", "exec sleep 1000")


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[SharedStorageSource]:
    source = SharedStorageSource("n1", ("/lustre",), answer_within=0.05, proc=mounts(tmp_path), probe=HANGS)
    yield source
    _abandon(source._out)


def mounts(tmp_path: Path, text: str = "r / ext4 rw 0 0\nx /lustre lustre rw 0 0\n") -> str:
    (tmp_path / "mounts").write_text(text)
    return str(tmp_path)


def values(reading: Reading) -> dict[tuple[str, str], Value]:
    return {(signal.subject, signal.name): signal.value for signal in reading.signals}


LUSTRE = "node/n1/storage/lustre"


def test_a_mount_that_answers_reports_how_long_it_took(tmp_path: Path) -> None:
    seen = values(SharedStorageSource("n1", ("/lustre",), proc=mounts(tmp_path), probe=("true",)).read(0))
    assert float(seen[LUSTRE, "storage_answer_seconds"]) >= 0
    assert (seen[LUSTRE, "storage_hung_seconds"], seen[LUSTRE, "storage_error"]) == (0.0, "")
    assert seen[LUSTRE, "storage_mounted"] == 1.0


def test_a_hung_mount_reports_its_age_and_is_not_asked_again(hung: SharedStorageSource) -> None:
    first = values(hung.read(0))
    child = hung._out["/lustre"].child.pid
    second = values(hung.read(30))
    assert hung._out["/lustre"].child.pid == child
    assert float(second[LUSTRE, "storage_hung_seconds"]) >= float(first[LUSTRE, "storage_hung_seconds"]) >= 0.05


def test_when_the_child_returns_the_mount_is_asked_anew(hung: SharedStorageSource) -> None:
    hung.read(0)
    child = hung._out["/lustre"].child
    child.kill()
    child.wait()
    hung._probe = ("true",)
    hung._answer_within = 60.0
    hung.read(30)  # hears of the old child's end
    assert values(hung.read(60))[LUSTRE, "storage_hung_seconds"] == 0.0


def test_a_hung_mount_does_not_hide_another(tmp_path: Path) -> None:
    probe = ("sh", "-c", 'case "$0" in /lustre) exec sleep 1000;; esac')
    source = SharedStorageSource("n1", ("/lustre", "/home"), answer_within=0.05, proc=mounts(tmp_path), probe=probe)
    try:
        home = "node/n1/storage/home"
        seen = until(lambda: result if (result := values(source.read(0)))[home, "storage_hung_seconds"] == 0.0 else {})
        assert float(seen[LUSTRE, "storage_hung_seconds"]) > 0
    finally:
        _abandon(source._out)


def test_a_real_mount_and_a_missing_directory(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", ("/proc", "/no/such/place"), answer_within=30.0)
    seen = values(source.read(0))
    assert seen["node/n1/storage/proc", "storage_error"] == ""
    assert seen["node/n1/storage/no/such/place", "storage_error"] == "No such file or directory"
    assert seen["node/n1/storage/no/such/place", "storage_mounted"] == 0.0


def test_shared_file_systems_are_found_and_let_go_with_the_mount_table(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", proc=mounts(tmp_path), probe=("true",))
    first = source.read(0)
    assert (LUSTRE, "storage_answer_seconds") in values(first)
    assert first.present == ["node/n1"]  # or a pod's volume would be missed when it is gone
    mounts(tmp_path, "r / ext4 rw 0 0\n")
    second = source.read(30)
    assert values(second) == {("node/n1", "storage_mounts"): 0.0}
    assert "no longer mounted" in second.absent[LUSTRE, "storage_hung_seconds"]


def test_a_volume_that_goes_while_it_is_asked_is_not_reported_as_an_error(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    probe = ("sh", "-c", f"echo 'r / ext4 rw 0 0' > {table}; echo gone >&2; false")
    assert values(SharedStorageSource("n1", proc=mounts(tmp_path), probe=probe).read(0)) == {
        ("node/n1", "storage_mounts"): 0.0
    }


def test_a_hung_volume_that_was_taken_away_is_reported_no_more(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", answer_within=0.05, proc=mounts(tmp_path), probe=HANGS)
    try:
        assert float(values(source.read(0))[LUSTRE, "storage_hung_seconds"]) > 0
        mounts(tmp_path, "r / ext4 rw 0 0\n")
        assert values(source.read(30)) == {("node/n1", "storage_mounts"): 0.0}
    finally:
        _abandon(source._out)


def test_a_listed_file_system_stays_listed(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", ("/lustre",), proc=mounts(tmp_path, "r / ext4 rw 0 0\n"), probe=("true",))
    reading = source.read(0)
    assert values(reading)[LUSTRE, "storage_mounted"] == 0.0
    assert LUSTRE in reading.present


def test_a_host_path_that_cannot_be_reached_is_unknown_and_not_asked_in_our_own_mounts(tmp_path: Path) -> None:
    mounts(tmp_path, "overlay / overlay rw 0 0\n")
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mounts").write_text("/dev/sda1 / ext4 rw 0 0\nx /lustre lustre rw 0 0\n")
    reading = SharedStorageSource("n1", proc=str(tmp_path), probe=("true",)).read(0)
    assert "1/root: No such file" in reading.absent["node/n1", "storage_mounts"]
    assert "cannot be reached" in reading.absent[LUSTRE, "storage_hung_seconds"]


def test_no_shared_file_system_is_an_answer_of_its_own(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", proc=mounts(tmp_path, "r / ext4 rw 0 0\n"))
    assert values(source.read(0)) == {("node/n1", "storage_mounts"): 0.0}


def test_an_unreadable_mount_table_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    reading = SharedStorageSource("n1", proc=str(tmp_path / "gone")).read(0)
    assert "cannot be read" in reading.absent["node/n1", "storage_mounts"]


def test_a_probe_that_cannot_start_is_absence(tmp_path: Path) -> None:
    source = SharedStorageSource("n1", ("/lustre",), proc=mounts(tmp_path), probe=("/no/such/program",))
    assert "cannot be started" in source.read(0).absent[LUSTRE, "storage_answer_seconds"]
