"""The stored results of `make mutants`: the last run of each package, and the reason for each surviving mutant.

A rate counts at the first run with a seed: afterwards tests are written for what that seed found. `first_runs` keeps
those rates; a later run with the same seed, and `--again`, leave them alone.
"""

from collections.abc import Collection, Mapping
from typing import Any

from mutations import Mutant

Result = dict[str, Any]
Excuses = Mapping[tuple[str, str], str]
NO_TEST = "no test"
TESTED = "killed by a test that was added after this run"
GONE = "the code it changed is no longer there"


def reason(mutant: Mutant, excuses: Excuses) -> str:
    """Why a mutant lives."""
    why = excuses.get((mutant.path, mutant.text))
    return NO_TEST if why is None else f"excused: {why}"


def survivor(mutant: Mutant, excuses: Excuses) -> dict[str, Any]:
    """A survivor as it is kept: lines move, file and text find it again."""
    return {"file": mutant.path, "line": mutant.line, "change": mutant.text, "reason": reason(mutant, excuses)}


def result(before: Result, run: Result, seed: int, every: bool) -> Result:
    """The last run, beside the first rate of every seed."""
    first: dict[str, Any] = dict(before.get("first_runs", {}))
    name = "every mutant" if every else str(seed)
    new = name not in first
    if new:
        first[name] = {key: run[key] for key in ("judged", "killed", "rate")}
    return {"seed": seed, "every": every, "first_run_with_this_seed": new, **run, "first_runs": first}


def kept(before: Result, found: Collection[Mutant]) -> list[Mutant]:
    """The survivors of the last run that still can be made."""
    texts = {(one["file"], one["change"]) for one in before["survivors"]}
    return [one for one in found if (one.path, one.text) in texts]


def again(before: Result, possible: Collection[Mutant], alive: Collection[Mutant], excuses: Excuses) -> Result:
    """The last run with today's reasons. Its figures stay: they are what the tests noticed at that time."""
    there = {(one.path, one.text) for one in possible}
    living = {(one.path, one.text): one for one in alive}
    survivors = []
    for one in before["survivors"]:
        key = one["file"], one["change"]
        now = living.get(key)
        if now is not None:
            survivors.append(survivor(now, excuses))
        else:
            survivors.append({**one, "reason": TESTED if key in there else GONE})
    return {**before, "survivors": survivors}


def lines(found: Result) -> list[str]:
    """One line per survivor, those without a test first."""
    ordered = sorted(found["survivors"], key=lambda one: (one["reason"] != NO_TEST, one["file"], one["line"]))
    return [f"  {one['file']}:{one['line']} {one['change']}\n    {one['reason']}" for one in ordered]


def idle_excuses(excuses: Excuses, paths: Collection[str], possible: Collection[Mutant]) -> list[str]:
    """Excuses for mutants that the code no longer has."""
    there = {(one.path, one.text) for one in possible}
    return [f"{path} {text}" for path, text in excuses if path in paths and (path, text) not in there]
