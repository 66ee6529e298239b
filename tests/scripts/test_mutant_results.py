"""Every survivor is kept with its reason, and the rate of a seed's first run stays."""

import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
CODE = """def late(age):
    return age > 3 or age < -100
"""
WHY = {("code.py", "late: age > 3 -> age >= 3"): "No age is 3."}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for name in ("mutations", "mutant_results"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import mutations  # type: ignore[import-not-found]

    (tmp_path / "code.py").write_text(CODE)
    return {one.text: one for one in mutations.mutants(tmp_path, "code.py")}


def run(*alive: Any, rate: float = 0.5) -> dict[str, Any]:
    import mutant_results as results  # type: ignore[import-not-found]

    return {"judged": 4, "killed": 2, "rate": rate, "survivors": [results.survivor(one, WHY) for one in alive]}


def reasons(result: dict[str, Any]) -> list[str]:
    return [one["reason"] for one in result["survivors"]]


def test_a_survivor_has_its_excuse_or_no_test(found: Any) -> None:
    import mutant_results as results

    kept = run(found["late: age > 3 -> age >= 3"], found["late: age > 3 -> age < 3"])
    assert reasons(kept) == ["excused: No age is 3.", "no test"]
    printed = results.lines(kept)
    assert printed[0] == "  code.py:2 late: age > 3 -> age < 3\n    no test", "those to work on come first"
    assert printed[1].endswith("excused: No age is 3.")


def test_the_first_rate_of_a_seed_stays(found: Any) -> None:
    import mutant_results as results

    first = results.result({}, run(rate=0.5), seed=7, every=False)
    later = results.result(first, run(rate=1.0), seed=7, every=False)
    other = results.result(later, run(rate=0.9), seed=8, every=False)
    assert [one["first_run_with_this_seed"] for one in (first, later, other)] == [True, False, True]
    assert {seed: one["rate"] for seed, one in other["first_runs"].items()} == {"7": 0.5, "8": 0.9}
    assert later["rate"] == 1.0


def test_what_became_of_the_survivors_changes_no_rate(found: Any) -> None:
    import mutant_results as results

    excusable, other = found["late: age > 3 -> age >= 3"], found["late: age > 3 -> age < 3"]
    before = {**run(excusable, other), "rate": 0.5}
    gone = {"file": "code.py", "line": 1, "change": "early: 1 -> 2", "reason": "no test"}
    before["survivors"].append(gone)
    assert results.kept(before, found.values()) == [excusable, other]
    after = results.again(before, found.values(), [excusable], WHY)
    assert reasons(after) == ["excused: No age is 3.", results.TESTED, results.GONE]
    assert after["rate"] == 0.5


def test_an_excuse_for_what_is_not_there_is_named(found: Any) -> None:
    import mutant_results as results

    excuses = {**WHY, ("code.py", "late: a -> b"): "", ("other.py", "x: a -> b"): ""}
    assert results.idle_excuses(excuses, {"code.py"}, found.values()) == ["code.py late: a -> b"]
