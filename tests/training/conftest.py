"""A runtime folder of its own for each test, and no keeper left behind."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the training room needs torch: make torch")
sys.path.insert(0, str(Path(__file__).parent))  # the processes of a test import its helpers by name

import crew  # noqa: E402

from holdfast.training.checkpoint.keeper.site import memory_path  # noqa: E402


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a job, and short socket paths."""
    runtime = tmp_path / "r"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(runtime))
    folder = tmp_path / "job"
    folder.mkdir()
    yield folder
    crew.end_ranks()
    for lock in runtime.glob("*.lock"):
        crew.end_pid(int(lock.read_text() or 0))
        shutil.rmtree(memory_path(lock), ignore_errors=True)
