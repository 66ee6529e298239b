"""Tests that notice: changes the code a little and counts how often a package's own quick tests fail.

`make mutants` takes a sample of each package in scripts/mutants.toml, always the same one; `--all` takes every mutant.
Every mutant runs in a fork of one process that has imported what is not ours. A first, traced run says which tests
execute which line, so that a mutant meets only tests that can notice it.
"""

import argparse
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import sys
import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hypothesis
import pytest
from mutations import Mutant, mutants, mutate

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "mutants.toml"
RESULTS = ROOT / "bench" / "results" / "mutants.json"
OPTIONS = ["-x", "-q", "-m", "not slow and not soak", "-p", "no:rerunfailures", "-o", "timeout=0", "--no-header"]
PATIENCE_SECONDS = 20.0  # and four times what the same tests take unchanged: a mutant that hangs is noticed
MOST_MEMORY = 6 * 2**30
FORK = multiprocessing.get_context("fork")
Line = tuple[str, int]


@dataclass
class Seen:
    """What the unchanged run told: per test the lines of the package it executed, and its seconds."""

    lines: dict[str, set[Line]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    imports: set[Line] = field(default_factory=set)  # executed while modules were loaded
    modules: list[str] = field(default_factory=list)  # not ours, worth importing before forks

    def chosen(self, mutant: Mutant) -> list[str]:
        """Tests that execute the mutant, the cheapest first; what is executed at import concerns every test."""
        places = {(mutant.path, line) for line in mutant.lines}
        own = Path(mutant.path).stem

        def order(test: str) -> tuple[bool, bool, bool, float]:
            lines = self.lines[test]
            touches = any(path == mutant.path for path, _ in lines)
            return places.isdisjoint(lines), not touches, f"test_{own}." not in test, self.seconds[test]

        everyone = not places.isdisjoint(self.imports)
        return sorted((one for one in self.seconds if everyone or places & self.lines[one]), key=order)


class Fixed:
    """A pytest plugin: Hypothesis always tries the same examples, and only the given tests run, in their order."""

    def __init__(self, tests: Sequence[str] | None = None) -> None:
        self._order = None if tests is None else {test: place for place, test in enumerate(tests)}

    def pytest_sessionstart(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if (order := self._order) is not None:
            items[:] = sorted((one for one in items if one.nodeid in order), key=lambda one: order[one.nodeid])


class Tracer(Fixed):
    """Which test executes which lines; a fixture of several tests counts for each of them, a cache for nobody."""

    def __init__(self, paths: Iterable[str]) -> None:
        super().__init__()
        self._tracers = {str(ROOT / path): self._lines_of(path) for path in paths}
        self._now: set[Line] = set()
        self._shared: dict[str, set[Line]] = defaultdict(set)
        self.seen = Seen(imports=self._now)

    def pytest_sessionstart(self) -> None:
        super().pytest_sessionstart()
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _lines_of(self, path: str) -> Callable[[FrameType, str, object], Any]:
        def line(frame: FrameType, event: str, _: object) -> Any:
            self._now.add((path, frame.f_lineno))
            return line

        return line

    def _call(self, frame: FrameType, event: str, _: object) -> Any:
        return self._tracers.get(frame.f_code.co_filename)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for one in gc.get_objects():
            if type(one).__name__ == "_lru_cache_wrapper" and str(one.__module__).startswith("holdfast"):
                one.cache_clear()
        before, self._now = self._now, self.seen.lines[item.nodeid]
        begun = time.monotonic()
        done = yield
        self.seen.seconds[item.nodeid] = time.monotonic() - begun
        self._now.update(*(self._shared[name] for name in getattr(item, "fixturenames", ())))
        self._now = before
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = self._now
        if fixturedef.scope != "function":
            self._now = self._shared[fixturedef.argname]
        try:
            return (yield)
        finally:
            self._now = before

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        ours = ("holdfast", "tests", "conftest", "test_", "__main__", "_pytest")
        self.seen.modules = [name for name in sys.modules if not name.startswith(ours)]


class Changed(SourceFileLoader):
    """Loads one module with its mutant instead of what is written."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(ROOT / mutant.path))

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutate(Path(self.path).read_text(), self._mutant), self.path, "exec", dont_inherit=True)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def _quietly() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def _files(tests: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


def _trace(paths: list[str], tests: list[str], answer: Connection) -> None:
    _quietly()
    tracer = Tracer(paths)
    code = pytest.main([*tests, *OPTIONS], plugins=[tracer])
    seen = tracer.seen
    answer.send((int(code), Seen(dict(seen.lines), dict(seen.seconds), seen.imports, seen.modules)))


def _meet(mutant: Mutant, tests: list[str]) -> None:
    _quietly()
    sys.meta_path.insert(0, Changed(mutant))
    code = pytest.main([*_files(tests), *OPTIONS], plugins=[Fixed(tests)])
    os._exit(int(code))


def baseline(paths: list[str], tests: list[str]) -> Seen:
    """The unchanged run, traced. Tests that fail unchanged can tell nothing about a mutant."""
    here, there = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_trace, args=(paths, tests, there))
    child.start()
    there.close()
    code, seen = here.recv()
    child.join()
    if code:
        sys.exit(f"the tests in {' '.join(tests)} do not pass before anything is changed")
    return Seen(defaultdict(set, seen.lines), defaultdict(float, seen.seconds), seen.imports, seen.modules)


def survivors(some: Sequence[Mutant], seen: Seen, jobs: int) -> list[Mutant]:
    waiting, left = list(reversed(some)), []
    running: dict[int, tuple[BaseProcess, Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            tests = seen.chosen(mutant)
            if not tests:
                left.append(mutant)
                continue
            child: BaseProcess = FORK.Process(target=_meet, args=(mutant, tests))
            child.start()
            until = time.monotonic() + PATIENCE_SECONDS + 4 * sum(seen.seconds[test] for test in tests)
            running[child.sentinel] = child, mutant, until
        if running:
            wait(list(running), timeout=max(0.0, min(until for _, _, until in running.values()) - time.monotonic()))
        for sentinel, (child, mutant, until) in list(running.items()):
            if child.is_alive() and time.monotonic() < until:
                continue
            child.kill()
            child.join()
            del running[sentinel]
            if child.exitcode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                left.append(mutant)
    return sorted(left, key=lambda one: (one.path, one.line))


def sample(found: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """The same mutants again as long as they exist, whatever else changes in the package."""
    by_chance = sorted(found, key=lambda one: hashlib.sha256(f"{seed} {one.path} {one.text}".encode()).digest())
    return sorted(by_chance[:count], key=lambda one: (one.path, one.line))


def examine(
    name: str, entry: dict[str, list[str]], options: argparse.Namespace, why: dict[tuple[str, str], str]
) -> dict[str, Any]:
    begun = time.monotonic()
    roots = [ROOT / path for path in entry["code"]]
    files = [one for root in roots for one in (sorted(root.rglob("*.py")) if root.is_dir() else [root])]
    paths = [str(one.relative_to(ROOT)) for one in files]
    found = [one for path in paths for one in mutants(ROOT, path) if options.only in f"{path} {one.text}"]
    taken = found if options.all or options.only else sample(found, options.count, options.seed)
    seen = baseline(paths, entry["tests"])
    for module in seen.modules:
        try:
            importlib.import_module(module)
        except ImportError:  # of a kind that only a test makes
            continue
    left = survivors(taken, seen, options.jobs)
    excused = [one for one in left if (one.path, one.text) in why]
    judged = len(taken) - len(excused)
    alive = [f"{one.path}:{one.line} {one.text}" for one in left if one not in excused]
    rate = 1 - len(alive) / judged if judged else 1.0
    print(f"{name:<12} {rate:6.1%} of {judged} mutants killed, {len(excused)} excused", end="")
    print(f" ({len(found)} possible, {time.monotonic() - begun:.0f} s)")
    for one in alive:
        print(f"  {one}")
    return {
        "possible": len(found),
        "judged": judged,
        "killed": judged - len(alive),
        "excused": len(excused),
        "rate": round(rate, 4),
        "survivors": alive,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", help="of scripts/mutants.toml; all without a name")
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample: hours")
    parser.add_argument("--count", type=int, default=40, help="mutants per package (40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="every mutant whose file and text contain this; nothing is kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    why = {(one["file"], one["text"]): one["why"] for one in table.get("excused", [])}
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = []
    for name, entry in table["package"].items():
        if not options.packages or name in options.packages:
            told = examine(name, entry, options, why)
            results[name] = {"seed": options.seed, "every": options.all, **told}
            failed += [name] if told["rate"] < table["least"] else []
    if not options.only:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if failed:
        print(f"too few mutants are noticed in {', '.join(failed)}: below {table['least']:.0%}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
