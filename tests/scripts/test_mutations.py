"""Mutants are made, each is another program, and a package without any is an error."""

import argparse
import ast
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
CODE = """LIMIT = 3

def late(age, fresh):
    if age > LIMIT and fresh:
        return age + 1
    return age + 1
"""


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("mutations", "mutants"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("scripts")
def test_every_mutant_is_another_program_with_a_name_of_its_own(tmp_path: Path) -> None:
    import mutations  # type: ignore[import-not-found]

    (tmp_path / "code.py").write_text(CODE)
    found = mutations.mutants(tmp_path, "code.py")
    made = [ast.unparse(mutations.mutate(CODE, one)) for one in found]
    assert len(found) >= 6
    assert ast.unparse(ast.parse(CODE)) not in made
    assert len({one.text for one in found}) == len(found)
    assert {one.line for one in found} >= {1, 4, 5, 6}


@pytest.mark.usefixtures("scripts")
def test_a_package_without_a_mutant_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mutants  # type: ignore[import-not-found]

    (tmp_path / "code.py").write_text('"""Nothing to change."""\n')
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    options = argparse.Namespace(only="", all=False, count=40, seed=1, jobs=1)
    with pytest.raises(SystemExit, match=r"no mutant in code\.py"):
        mutants.examine("empty", {"code": ["code.py"], "tests": []}, options, {})


def _computes(mutant: object, tests: list[str]) -> None:
    while True:
        pass


def _waits(mutant: object, tests: list[str]) -> None:
    time.sleep(600)


def _ends(mutant: object, tests: list[str]) -> None:
    os._exit(1)


@pytest.mark.usefixtures("scripts")
@pytest.mark.parametrize(
    ("does", "seconds", "waits", "hung"),
    [(_computes, 0.1, 10_000, True), (_waits, 0.1, 1, True), (_ends, 600.0, 1, False)],
)
def test_a_mutant_hangs_that_computes_or_waits_for_too_long(
    does: Callable[[object, list[str]], None], seconds: float, waits: int, hung: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own CPU time counts, so that a busy machine kills nothing."""
    import mutants

    monkeypatch.setattr(mutants, "TIMEOUT_SECONDS", seconds)
    monkeypatch.setattr(mutants, "WAITS", waits)
    monkeypatch.setattr(mutants.Seen, "chosen", lambda self, mutant: ["a"])
    fate = mutants.meet(["one"], mutants.Seen(seconds={"a": 0.0}), 1, does)
    assert (fate.hung, fate.dead, fate.alive) == ((["one"], [], []) if hung else ([], ["one"], []))
