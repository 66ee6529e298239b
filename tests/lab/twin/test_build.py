"""Compiling the library: once per content, and a clear word where it cannot be done."""

from pathlib import Path

import pytest

from holdfast.lab.twin import TwinError, make_node
from holdfast.lab.twin.nvml.build import library

pytestmark = pytest.mark.slow


def test_the_second_time_nothing_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = library()
    monkeypatch.setenv("PATH", str(tmp_path))  # no compiler any more
    assert library() == first and first.is_relative_to(tmp_path)


def test_without_a_compiler_one_sentence_and_nothing_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TwinError, match="needs a C compiler"):
        make_node(tmp_path / "n01")
    assert not (tmp_path / "n01").exists()
