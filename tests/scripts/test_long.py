"""The list of long tests names tests that exist, and is written from what was measured."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import long

ROOT = Path(__file__).parents[2]


def test_what_is_listed_exists() -> None:
    assert long.listed()
    for line in long.listed():
        file, _, name = line.partition("::")
        text = (ROOT / file).read_text()
        first = name.partition("::")[0]  # a function, or the class of a state machine
        assert not name or re.search(rf"^(?:async def |def |class |){first}\b", text, re.MULTILINE), line


def test_a_test_is_long_by_its_function_or_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long.listed.cache_clear()
    monkeypatch.setattr(long, "LIST", tmp_path / "long.txt")
    (tmp_path / "long.txt").write_text("# why\ntests/a.py::test_b\ntests/c.py\n")
    try:
        names = ["tests/a.py::test_b[1-2]", "tests/a.py::test_bc", "tests/c.py::test_d", "tests/c.pyx::test_d"]
        assert [long.is_long(name) for name in names] == [True, False, True, False]
    finally:
        long.listed.cache_clear()


def test_parameters_add_up_and_a_file_of_nothing_else_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(long, "LIST", tmp_path / "long.txt")
    half = long.LONG_SECONDS / 2
    measure = long.Measure()
    for nodeid, seconds in [
        ("tests/a.py::test_b[1]", half),
        ("tests/a.py::test_b[2]", half + 0.01),
        ("tests/a.py::test_short", half),
        ("tests/c.py::test_d", 2 * half + 0.01),
    ]:
        measure.pytest_runtest_logreport(SimpleNamespace(nodeid=nodeid, duration=seconds))  # type: ignore[arg-type]
    measure.pytest_sessionfinish()
    lines = (tmp_path / "long.txt").read_text().splitlines()
    assert lines[0].startswith("#") and lines[1:] == ["tests/a.py::test_b", "tests/c.py"]
