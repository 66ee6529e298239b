"""What is kept on disk survives torn lines, full disks and a second agent."""

import os
from pathlib import Path

import pytest

from holdfast.node.agent import state
from holdfast.node.agent.node import CheckChange
from holdfast.node.agent.state import KEEP_SECONDS, ChangeLog, Lock, StateError, write_atomically

NOW = 1_800_000_000.0


def change(at: float, check: str = "gpu.xid") -> CheckChange:
    return CheckChange(at=at, check=check, before="pass", after="fail", reason="Xid 79", subjects=("node/n/gpu/3",))


def test_changes_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    ChangeLog(path, NOW).add([change(NOW), change(NOW + 1)], NOW + 1)
    assert list(ChangeLog(path, NOW + 2).changes) == [change(NOW), change(NOW + 1)]


def test_a_torn_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    ChangeLog(path, NOW).add([change(NOW)], NOW)
    with path.open("ab") as file:
        file.write(b'\n{"at": 17999, "che')
    log = ChangeLog(path, NOW)
    log.add([change(NOW + 5)], NOW + 5)
    again = ChangeLog(path, NOW + 6)
    assert [kept.at for kept in again.changes] == [NOW, NOW + 5]


def test_random_bytes_are_not_changes_and_do_not_stop_the_agent(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_bytes(os.urandom(4096))
    log = ChangeLog(path, NOW)
    assert not log.changes
    assert log.skipped_lines > 0


def test_changes_older_than_a_day_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    log = ChangeLog(path, NOW)
    log.add([change(NOW)], NOW)
    log.add([change(NOW + 1.3 * KEEP_SECONDS)], NOW + 1.3 * KEEP_SECONDS)
    assert len(log.changes) == 1
    assert len(ChangeLog(path, NOW + 1.3 * KEEP_SECONDS).changes) == 1


def test_a_directory_that_cannot_be_written_keeps_changes_in_memory_and_writes_them_later(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "changes.jsonl"
    log = ChangeLog(path, NOW)
    log.add([change(NOW)], NOW)
    assert "No such file" in log.trouble
    path.parent.mkdir()
    log.add([change(NOW + 1)], NOW + 1)
    assert log.trouble == ""
    assert [kept.at for kept in ChangeLog(path, NOW + 1).changes] == [NOW, NOW + 1]


def test_a_second_agent_on_the_same_node_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    with pytest.raises(StateError, match=rf"another holdfast agent \(pid {os.getpid()}\)"):
        Lock(tmp_path)
    del first


def test_an_atomic_write_leaves_no_litter_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "verdict.json: " in write_atomically(tmp_path / "file" / "verdict.json", b"{}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_file_stays_bounded_however_many_changes_a_day_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MAX_CHANGES", 1_000)
    path = tmp_path / "changes.jsonl"
    log = ChangeLog(path, NOW)
    for batch in range(60):
        log.add([change(NOW + batch) for _ in range(50)], NOW + batch)
    assert len(path.read_bytes().splitlines()) <= 2_050
    assert len(ChangeLog(path, NOW + 60).changes) == 1_000


def test_the_last_change_of_a_check_is_known_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    ChangeLog(path, NOW).add([change(NOW), change(NOW + 1, "gpu.ecc")], NOW + 1)
    found = ChangeLog(path, NOW + 2).last("gpu.xid")
    assert found == change(NOW)
