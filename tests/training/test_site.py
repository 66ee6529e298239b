"""Socket paths of keepers: every runtime folder gives one that the kernel takes."""

import os
import socket
from pathlib import Path

import pytest

from holdfast.training.checkpoint.keeper.site import FIXED, LONGEST_PATH, runtime_folder, socket_path


@pytest.mark.parametrize("length", [30, LONGEST_PATH - FIXED - 1, LONGEST_PATH - FIXED, LONGEST_PATH - FIXED + 1, 150])
def test_a_keeper_can_listen_whatever_the_runtime_folder(
    length: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path_factory.mktemp("r")
    runtime = base / ("x" * max(1, length - len(str(base)) - 1))
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(runtime))
    path = socket_path("a-job-with-a-rather-long-name", base, "n1")
    assert len(os.fsencode(path)) <= LONGEST_PATH
    assert (path.parent == runtime) is (len(str(runtime)) <= LONGEST_PATH - FIXED)
    assert path.parent == runtime_folder()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    path.unlink()


def test_jobs_whose_names_are_cut_have_sockets_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(tmp_path / "y"))
    one, other = (socket_path("j" * 100 + end, tmp_path, "n1") for end in ("1", "2"))
    assert one != other
