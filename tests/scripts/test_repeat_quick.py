"""What `make repeat-quick` reads from a run: counts and names, wherever `make` writes something after them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

OUTPUT = """....F
FAILED tests/a/test_x.py::test_y[a b] - assert 1 == 2
ERROR tests/b/test_z.py - ImportError: no module
1 failed, 10803 passed, 1 skipped, 1 error in 824.16s (0:13:44)
make[1]: Leaving directory '/x'
"""


@pytest.fixture
def repeat_quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import repeat_quick  # type: ignore[import-not-found]

    return repeat_quick


def test_a_run_is_counted_and_what_failed_is_named(repeat_quick: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess(["make", "quick"], 2, OUTPUT, "make: *** Error 1")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    row = repeat_quick.once(3)
    assert {name: row[name] for name in ("run", "exit", "passed", "failed", "skipped", "error")} == {
        "run": 3, "exit": 2, "passed": 10803, "failed": 1, "skipped": 1, "error": 1,
    }  # fmt: skip
    assert row["failures"] == ["tests/a/test_x.py::test_y[a b]", "tests/b/test_z.py"]
    assert row["output"].endswith("Error 1")


def test_runs_that_were_made_are_kept(repeat_quick: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(repeat_quick, "RESULTS", tmp_path / "result.json")
    assert repeat_quick.keep([{"run": 1, "exit": 0}, {"run": 2, "exit": 2}], busy=2) == 1
    assert '"runs": 2' in (tmp_path / "result.json").read_text()
