"""Whole runs whose partner is full and whose storage is full or read-only: they go on, say so, and lose nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crew
import pytest
import roomless

from holdfast.training.checkpoint.keeper.site import socket_path
from holdfast.training.checkpoint.storage import storage
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]


@pytest.fixture
def full(place: Path) -> Iterator[Path]:
    """The job's folder on a file system with room for some words and for no step."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def small_keeper(folder: Path, rank: int) -> "subprocess.Popen[bytes]":
    """One that has room for its own rank and not for its partner's."""
    path = socket_path(folder.name, folder, f"node{rank}")
    words = ["--job", folder.name, "--dir", str(folder), "--node", f"node{rank}", "--memory-bytes", str(100 << 10)]
    with path.with_suffix(".log").open("ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "holdfast.training.checkpoint.keeper.keeper", *words], stdout=log, stderr=log
        )
    until(path.exists, path.with_suffix(".log").read_text)  # a rank that finds none starts one, with room for all
    return keeper


def run(folder: Path) -> list[dict[str, Any]]:
    port = crew.free_port()
    ranks = [crew.start(roomless.train, rank, 2, port, str(folder)) for rank in range(2)]
    for process in ranks:
        process.join(crew.TIMEOUT_SECONDS)
        assert process.exitcode == 0
    return [json.loads((folder.parent / f"result.{rank}").read_text()) for rank in range(2)]


def test_a_full_partner_and_a_full_storage_are_reported_and_what_is_held_is_loaded_again(full: Path) -> None:
    keeper = small_keeper(full, 1)
    large, _ = run(full)
    assert "bytes for rank 0 do not fit" in large["troubles"] and large["committed"] == -1
    assert "is full" in large["troubles"] and 6 not in large["stored"]
    assert storage.whole_steps(full) == []
    # The keeper goes on trying, so a draft is there at times.
    until(lambda: not list(full.glob("step-*/*draft*")), "what could not be written is taken away again")
    again, small_again = run(full)
    assert [again["begun_with"], small_again["begun_with"]] == [[6, "own memory", 6.0]] * 2
    keeper.kill()
    keeper.wait()


def test_a_storage_that_became_read_only_is_reported_and_memory_goes_on(full: Path) -> None:
    (full / "words").touch()
    (full / ".secret").write_bytes(b"s" * 32)
    (full / ".secret").chmod(0o600)
    subprocess.run(["mount", "-o", "remount,ro", str(full)], check=True)
    large, small = run(full)
    assert min(large["committed"], small["committed"]) >= roomless.STEPS - 1
    assert "Read-only file system" in large["troubles"]
    assert run(full)[0]["begun_with"] == [6, "own memory", 6.0]
