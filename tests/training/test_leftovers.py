"""Nothing outlives its job for long, and what a crash left is found and removed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.job.command import app
from holdfast.training.checkpoint.callbacks import memory_folder
from holdfast.training.checkpoint.keeper import leftovers
from holdfast.training.checkpoint.keeper.keeper import supervisor_of
from holdfast.training.checkpoint.keeper.site import runtime_folder, socket_path
from holdfast.training.checkpoint.keeper_client import Keeper
from tests.waiting import until


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")


def cleaned(*arguments: str) -> tuple[int, dict[str, list[dict[str, object]]]]:
    result = CliRunner().invoke(app, ["clean", "--json", "--idle-seconds", "0", *arguments])
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.slow
def test_an_idle_keeper_is_listed_and_ended_on_request_and_one_in_use_never(place: Path) -> None:
    rank = Keeper(place.name, place, 3, 4)
    rank.attach()
    code, found = cleaned("--end")
    assert code == 0
    assert [(one["job"], one["ranks"], one["ended"]) for one in found["keepers"]] == [(place.name, [3], False)]
    rank.close()
    until(lambda: not leftovers.keepers()[0].ranks, "the keeper notices that the rank left")
    assert [one["ended"] for one in cleaned()[1]["keepers"]] == [False]
    _, found = cleaned("--end")
    assert [one["ended"] for one in found["keepers"]] == [True]
    assert leftovers.keepers() == []


def test_files_of_a_keeper_that_died_are_removed_and_others_stay(place: Path) -> None:
    path = socket_path(place.name, place, "node0")
    for suffix in leftovers.SUFFIXES:
        path.with_suffix(suffix).write_text("4194304")
    other = runtime_folder() / "jobs.sock"
    other.write_text("")
    assert len(cleaned()[1]["files"]) == 3
    assert path.with_suffix(".lock").exists()
    code, found = cleaned("--end")
    assert (code, [one["removed"] for one in found["files"]]) == (0, [True] * 3)
    assert not path.with_suffix(".lock").exists() and other.exists()


def test_files_in_memory_are_listed_once_their_keeper_is_dead_and_are_of_one_job(place: Path) -> None:
    folder = memory_folder(place)
    others = [memory_folder(place.parent / "other" / place.name), memory_folder(place, "another job")]
    for other in others:
        other.rmdir()
    assert folder not in others
    (folder / "checkpoint-4").mkdir()
    socket_path(place.name, place, "node0").with_suffix(".lock").write_text("4194304")
    assert str(folder) in [one["path"] for one in cleaned()[1]["files"]]
    assert folder.exists()
    assert cleaned("--end")[0] == 0
    assert not folder.exists()


def test_a_folder_in_memory_that_others_can_use_is_refused(place: Path) -> None:
    memory_folder(place).chmod(0o755)
    socket_path(place.name, place, "node0").with_suffix(".lock").touch()  # so that it is removed after the test
    with pytest.raises(OSError, match="can be used by others"):
        memory_folder(place)


@pytest.mark.slow
def test_a_keeper_removes_the_files_in_memory_at_its_end_unless_a_rank_uses_them(place: Path) -> None:
    folder = memory_folder(place)
    for ended_under_a_rank in (True, False):
        rank = Keeper(place.name, place, 0, 1)
        rank.attach()
        (keeper,) = leftovers.keepers()
        if not ended_under_a_rank:
            rank.close()
            until(lambda: not leftovers.keepers()[0].ranks, "the keeper notices that the rank left")
        assert leftovers.end(keeper, 60.0)
        assert folder.exists() is ended_under_a_rank


def test_an_unfinished_write_counts_as_left_only_when_it_is_old(place: Path) -> None:
    draft = place / "step-00000004" / "rank-00001.draft-77"
    draft.mkdir(parents=True)
    (draft / "__0_0.distcp").write_text("half")
    (place / "step-00000004" / "rank-00002").mkdir()
    now = time.time()
    assert leftovers.drafts(place, now) == []
    assert leftovers.drafts(place, now + leftovers.DRAFT_SECONDS + 60) == [draft]


def process(proc: Path, pid: int, parent: int, environment: bytes = b"HOME=/root\0") -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "environ").write_bytes(environment)
    (proc / str(pid) / "stat").write_text(f"{pid} (a ) b) S {parent} 1 1")


def test_the_supervisor_is_above_everything_that_has_its_environment(tmp_path: Path) -> None:
    attempt = b"A=b\0HOLDFAST_ATTEMPT=2\0"
    for pid, parent, environment in ((50, 40, attempt), (40, 30, attempt), (30, 20, b""), (20, 1, b"")):
        process(tmp_path, pid, parent, environment)
    assert supervisor_of(50, tmp_path) == 30
    assert supervisor_of(30, tmp_path) == 0


@pytest.mark.parametrize(
    ("init", "above"), [(b"/sbin/init\0", None), (b"python\0/usr/bin/holdfast\0run\0", 1), (None, 1)]
)
def test_a_supervisor_that_ended_before_the_keeper_began_is_known_to_have_ended(
    tmp_path: Path, init: bytes | None, above: int | None
) -> None:
    process(tmp_path, 60, 1, b"HOLDFAST_ATTEMPT=2\0")
    if init is not None:
        (tmp_path / "1").mkdir()
        (tmp_path / "1" / "cmdline").write_bytes(init)
    assert supervisor_of(60, tmp_path) == above
    process(tmp_path, 70, 1)  # no `holdfast run` started it
    assert supervisor_of(70, tmp_path) == 0


@pytest.mark.slow
def test_a_keeper_ends_soon_after_the_run_it_was_started_by(place: Path) -> None:
    """The run is a process that starts a keeper with its environment and ends."""
    module = "holdfast.training.checkpoint.keeper.keeper"
    command = [sys.executable, "-m", module, "--job", place.name, "--dir", str(place), "--orphan-seconds", "0"]
    script = (
        "import os, subprocess, sys, time\n"
        "os.environ['HOLDFAST_ATTEMPT'] = '1'\n"
        f"child = subprocess.Popen({command!r}, start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdin is not None
    keeper = int(run.stdout.readline())
    until(lambda: [one.pid for one in leftovers.keepers() if not one.unreadable] == [keeper], "the keeper serves")
    run.stdin.close()
    run.wait()
    until(lambda: leftovers.keepers() == [], "it ends")


@pytest.mark.parametrize(
    ("ranks", "idle", "unreadable", "words"),
    [
        ((0,), 0.0, "", "in use"),
        ((), 59.0, "", "idle for less than 60 s"),
        ((), 60.0, "", "idle"),
        ((), 0.0, "it does not answer", "it does not answer"),
    ],
)
def test_the_table_says_of_each_keeper_whether_it_is_used(
    monkeypatch: pytest.MonkeyPatch, ranks: tuple[int, ...], idle: float, unreadable: str, words: str
) -> None:
    one = leftovers.LeftKeeper(Path("one.lock"), 7, "llama", ranks, idle, 0, unreadable)
    monkeypatch.setattr(leftovers, "keepers", lambda: [one])
    monkeypatch.setattr(leftovers, "dead_files", list)
    result = CliRunner().invoke(app, ["clean", "--idle-seconds", "60"])
    assert result.stdout.splitlines()[1].rstrip().endswith(f"GiB  {words}")
