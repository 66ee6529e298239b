"""Mutation tests: makes small changes to the code and counts how often the quick tests of the package fail.

`make mutants` takes a sample of each package in scripts/mutants.toml, always the same one; `--all` takes every mutant.
A first, traced run says which tests execute which line, so that a mutant meets only tests that can notice it. Each
meets them in a fork of a process that has collected the tests already, and exchanges the code of one function or the
value of a limit there. What cannot be exchanged, or is not noticed so (a limit may have been copied), is met again with
its module loaded anew, in a fork of a process that has imported nothing of ours.
"""

import argparse
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from math import ceil
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import hypothesis
import pytest
from mutant_results import NO_TEST, Excuses, Result, again, idle_excuses, kept, lines, result, survivor
from mutations import Mutant, mutants, mutate

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "mutants.toml"
RESULTS = ROOT / "bench" / "results" / "mutants.json"
OPTIONS = ["-x", "-q", "-s", "-m", "not slow and not soak", "-p", "no:rerunfailures", "-o", "timeout=0", "--no-header"]
TIMEOUT_SECONDS = 20.0  # CPU time, in addition to four times that of the unchanged code; a longer run counts as a hang
WAITS = 10  # factor for wall time, for a mutant that waits; large, because the machine may be busy
MOST_MEMORY = 6 * 2**30
FORK = multiprocessing.get_context("fork")
LOAD_ANEW = 99  # an exit code
Line = tuple[str, int]
Start = Callable[[Mutant, list[str]], None]


@dataclass
class Seen:
    """The unchanged run: per test the lines of the package it executed, and its seconds."""

    lines: dict[str, set[Line]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    imports: set[Line] = field(default_factory=set)  # executed while modules were loaded
    modules: list[str] = field(default_factory=list)  # of other packages; imported before forking

    def chosen(self, mutant: Mutant) -> list[str]:
        """Tests that execute the mutant, the cheapest first; what is executed at import concerns every test."""
        places = _places(mutant)
        own = Path(mutant.path).stem

        def order(test: str) -> tuple[bool, bool, bool, float]:
            lines = self.lines[test]
            touches = any(path == mutant.path for path, _ in lines)
            return places.isdisjoint(lines), not touches, f"test_{own}." not in test, self.seconds[test]

        everyone = not mutant.inside or not places.isdisjoint(self.imports)
        return sorted((one for one in self.seconds if everyone or places & self.lines[one]), key=order)


def _places(mutant: Mutant) -> set[Line]:
    return {(mutant.path, line) for line in mutant.lines}


class Fixed:
    """A pytest plugin: Hypothesis always tries the same examples, and only the given tests run, in their order."""

    def __init__(self, tests: Sequence[str] | None = None) -> None:
        self._order = None if tests is None else {test: place for place, test in enumerate(tests)}

    def pytest_sessionstart(self) -> None:
        hypothesis.settings.register_profile(
            "mutants",
            deadline=None,
            derandomize=True,
            max_examples=10,  # as `make quick` does
            database=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            suppress_health_check=list(hypothesis.HealthCheck),  # a trace makes everything slow
        )
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if (order := self._order) is not None:
            items[:] = sorted((one for one in items if one.nodeid in order), key=lambda one: order[one.nodeid])


class Collected(Fixed):
    """Collects once, traces every test, and meets the mutants in forks.

    A fixture of several tests counts for each of them, a cache for none.
    """

    def __init__(self, paths: Iterable[str], some: Sequence[Mutant], jobs: int, answer: Connection) -> None:
        super().__init__()
        self._tracers = {str(ROOT / path): self._lines_of(path) for path in paths}
        self._now: set[Line] = set()
        self._shared: dict[str, set[Line]] = defaultdict(set)
        self._seen = Seen(imports=self._now)
        self._some, self._jobs, self._answer = some, jobs, answer
        self._items: dict[str, pytest.Item] = {}
        self._caches: list[Any] = []
        threading.settrace(self._call)  # now, because a conftest's imports are loaded before a session starts
        sys.settrace(self._call)

    def _lines_of(self, path: str) -> Callable[[FrameType, str, object], Any]:
        def line(frame: FrameType, event: str, _: object) -> Any:
            self._now.add((path, frame.f_lineno))
            return line

        return line

    def _call(self, frame: FrameType, event: str, _: object) -> Any:
        return self._tracers.get(frame.f_code.co_filename)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # tests/conftest.py freezes objects; the search for functions needs the collector to see them
        self._items = {item.nodeid: item for item in session.items}
        self._caches = _caches(self._tracers)
        passed = _run(session, session.items, self._follow)
        threading.settrace(None)
        sys.settrace(None)
        if not passed:
            self._answer.send((None, None))
            return True
        ours = ("holdfast", "tests", "conftest", "test_", "__m", "_pytest")
        seen = self._seen
        others = ((name, getattr(module, "__file__", None)) for name, module in sys.modules.items())
        seen.modules = [name for name, file in others if not name.startswith(ours) and not _in_the_repository(file)]
        now = [one for one in self._some if not one.inside or seen.imports.isdisjoint(_places(one))]
        self._answer.send((seen, meet(now, seen, self._jobs, partial(self._exchange, session))))
        return True

    def _forget(self) -> None:
        for one in self._caches:
            one.cache_clear()

    @contextmanager
    def _follow(self, item: pytest.Item) -> Iterator[None]:
        self._forget()
        before, self._now = self._now, self._seen.lines.setdefault(item.nodeid, set())
        begun = time.process_time()
        yield
        self._seen.seconds[item.nodeid] = time.process_time() - begun
        self._now.update(*(self._shared[name] for name in getattr(item, "fixturenames", ())))
        self._now = before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before = self._now
        if fixturedef.scope != "function":
            self._now = self._shared[fixturedef.argname]
        try:
            return (yield)
        finally:
            self._now = before

    def _exchange(self, session: pytest.Session, mutant: Mutant, tests: list[str]) -> None:
        self._forget()
        try:
            exchange(mutant) if mutant.inside else exchange_limits(mutant)
        except ValueError:  # its closure has other names than before, or the value is not a number
            os._exit(LOAD_ANEW)
        passed = _run(session, [self._items[test] for test in tests])
        os._exit(1 if not passed else 0 if mutant.inside else LOAD_ANEW)


def _run(session: pytest.Session, items: list[pytest.Item], around: Any = nullcontext) -> bool:
    for item, following in zip(items, [*items[1:], None], strict=True):
        with around(item):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return False
    return True


def _in_the_repository(file: str | None) -> bool:
    """A script imports code that is to be changed; imported before the forks, it would stay as it is."""
    return file is not None and Path(file).is_relative_to(ROOT) and ".venv" not in Path(file).parts


def _caches(paths: Container[str]) -> list[Any]:
    """What a cache of the package holds was computed before the change."""
    caches = [one for one in gc.get_objects() if type(one).__name__ == "_lru_cache_wrapper"]
    return [one for one in caches if one.__wrapped__.__code__.co_filename in paths]


def exchange(mutant: Mutant) -> None:
    """Every function of the module that is alive gets the code that the changed source has for it."""
    codes: dict[tuple[str, int], CodeType] = {}
    left = [Changed(mutant).get_code("")]
    while left:
        for one in left.pop().co_consts:
            if isinstance(one, CodeType):
                left.append(one)
                key = one.co_qualname, one.co_firstlineno
                if codes.setdefault(key, one) != one:
                    raise ValueError(key)  # two lambdas of one line
    path = str(ROOT / mutant.path)
    alive = [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename == path]
    if not alive:
        raise ValueError(path)
    for function in alive:
        function.__code__ = codes[function.__code__.co_qualname, function.__code__.co_firstlineno]


def exchange_limits(mutant: Mutant) -> None:
    """Every module that has the number, or the collection of them, gets the changed one."""
    loader = Changed(mutant)
    changed, before = ModuleType(loader.name), vars(sys.modules[loader.name])
    changed.__file__, changed.__package__ = loader.path, before["__package__"]
    exec(loader.get_code(""), vars(changed))
    other = {name: new for name, new in vars(changed).items() if _plain(new) and new != before.get(name)}
    if not other:
        raise ValueError(mutant.text)
    for module in list(sys.modules.values()):
        for name, new in other.items():
            if vars(module).get(name) is before[name]:
                setattr(module, name, new)


def _plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_plain, value.items()))
    return (
        all(map(_plain, value)) if isinstance(value, tuple | frozenset | set) else isinstance(value, int | float | str)
    )


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


def _limited(seconds: float, start: Start, mutant: Mutant, tests: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(seconds), ceil(seconds) + 1))
    start(mutant, tests)


def _files(tests: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("::")[0] for test in tests))


def _collect(paths: list[str], tests: list[str], some: list[Mutant], jobs: int, answer: Connection) -> None:
    _quietly()
    pytest.main([*tests, *OPTIONS], plugins=[Collected(paths, some, jobs, answer)])


def _load_anew(mutant: Mutant, tests: list[str]) -> None:
    _quietly()
    sys.meta_path.insert(0, Changed(mutant))
    os._exit(int(pytest.main([*_files(tests), *OPTIONS], plugins=[Fixed(tests)])))


@dataclass
class Fate:
    alive: list[Mutant] = field(default_factory=list)
    dead: list[Mutant] = field(default_factory=list)
    hung: list[Mutant] = field(default_factory=list)  # counted as detected

    def add(self, mutant: Mutant, child: BaseProcess) -> None:
        if hung := child.is_alive():
            child.kill()
        child.join()
        if hung or child.exitcode == -signal.SIGXCPU:
            self.hung.append(mutant)
        elif child.exitcode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            self.alive.append(mutant)
        elif child.exitcode != LOAD_ANEW:
            self.dead.append(mutant)


def meet(some: Sequence[Mutant], seen: Seen, jobs: int, start: Start) -> Fate:
    """Every mutant meets the tests that can notice it; in no list is who has to be loaded anew."""
    waiting, fate = list(reversed(some)), Fate()
    running: dict[int, tuple[BaseProcess, Mutant, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            if not (tests := seen.chosen(mutant)):
                fate.alive.append(mutant)
                continue
            most = TIMEOUT_SECONDS + 4 * sum(seen.seconds[test] for test in tests)
            child: BaseProcess = FORK.Process(target=_limited, args=(most, start, mutant, tests))
            child.start()
            running[child.sentinel] = child, mutant, time.monotonic() + WAITS * most
        if running:
            wait(list(running), timeout=max(0.0, min(until for _, _, until in running.values()) - time.monotonic()))
        for sentinel, (child, mutant, until) in list(running.items()):
            if not child.is_alive() or time.monotonic() >= until:
                del running[sentinel]
                fate.add(mutant, child)
    return fate


def judge(paths: list[str], tests: list[str], some: list[Mutant], jobs: int) -> Fate:
    here, there = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_collect, args=(paths, tests, some, jobs, there))
    child.start()
    there.close()
    seen, fate = here.recv()
    child.join()
    if seen is None:
        sys.exit(f"the tests in {' '.join(tests)} do not pass before anything is changed")
    for module in seen.modules:
        with suppress(ImportError):  # a module that only a test creates
            importlib.import_module(module)
    met = {*fate.alive, *fate.dead, *fate.hung}
    more = meet([one for one in some if one not in met], seen, jobs, _load_anew)
    return Fate(fate.alive + more.alive, fate.dead + more.dead, fate.hung + more.hung)


def sample(found: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """The same mutants again as long as they exist, whatever else changes in the package."""
    by_chance = sorted(found, key=lambda one: hashlib.sha256(f"{seed} {one.path} {one.text}".encode()).digest())
    return sorted(by_chance[:count], key=lambda one: (one.path, one.line))


def _possible(name: str, entry: dict[str, list[str]]) -> tuple[list[str], list[Mutant]]:
    roots = [ROOT / path for path in entry["code"]]
    files = [one for root in roots for one in (sorted(root.rglob("*.py")) if root.is_dir() else [root])]
    paths = [str(one.relative_to(ROOT)) for one in files]
    found = [one for path in paths for one in mutants(ROOT, path)]
    if not found:
        raise SystemExit(
            f"{name}: no mutant in {', '.join(entry['code'])}: nothing would be tested, and that is no pass"
        )
    return paths, found


def examine(name: str, entry: dict[str, list[str]], options: argparse.Namespace, excuses: Excuses) -> Result:
    begun = time.monotonic()
    paths, possible = _possible(name, entry)
    found = [one for one in possible if options.only in f"{one.path} {one.text}"]
    taken = found if options.all or options.only else sample(found, options.count, options.seed)
    fate = judge(paths, entry["tests"], taken, options.jobs)
    left = sorted(fate.alive, key=lambda one: (one.path, one.line))
    excused = [one for one in left if (one.path, one.text) in excuses]
    judged = len(taken) - len(excused)
    killed = len(taken) - len(left)
    rate = killed / judged if judged else 1.0
    run = {
        "possible": len(found),
        "judged": judged,
        "killed": killed,
        "killed_by_the_clock": len(fate.hung),
        "excused": len(excused),
        "rate": round(rate, 4),
        "survivors": [survivor(one, excuses) for one in left],
    }
    print(f"{name:<12} {rate:6.1%} of {judged} mutants killed ({len(fate.hung)} by the clock)", end="")
    print(f", {len(excused)} excused ({len(found)} possible, {time.monotonic() - begun:.0f} s)")
    for line in lines(run):
        print(line)
    for one in idle_excuses(excuses, paths, possible):
        print(f"  scripts/mutants.toml excuses what is not there: {one}")
    return run


def look_again(
    name: str, entry: dict[str, list[str]], options: argparse.Namespace, excuses: Excuses, before: Result
) -> Result:
    """The survivors of the last run meet today's tests."""
    paths, possible = _possible(name, entry)
    left = kept(before, possible)
    fate = judge(paths, entry["tests"], left, options.jobs) if left else Fate()
    now = again(before, possible, fate.alive, excuses)
    print(f"{name:<12} {before['rate']:6.1%} of {before['judged']} with seed {before['seed']}, and since then:")
    for line in lines(now):
        print(line)
    return now


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("packages", nargs="*", help="of scripts/mutants.toml; all without a name")
    parser.add_argument("--all", action="store_true", help="every mutant, not a sample: hours")
    parser.add_argument("--again", action="store_true", help="only the survivors of the last run; its rates stay")
    parser.add_argument("--count", type=int, default=40, help="mutants per package (40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="every mutant whose file and text contain this; nothing is kept")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    excuses = {(one["file"], one["text"]): one["why"] for one in table.get("excused", [])}
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    few, untested = [], []
    for name, entry in table["package"].items():
        if options.packages and name not in options.packages:
            continue
        before = results.get(name, {})
        if options.again:
            results[name] = look_again(name, entry, options, excuses, before)
            untested += [name] if any(one["reason"] == NO_TEST for one in results[name]["survivors"]) else []
        else:
            run = examine(name, entry, options, excuses)
            results[name] = result(before, run, options.seed, options.all)
            few += [name] if run["rate"] < table["least"] else []
    if not options.only:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if few:
        print(f"too few mutants are noticed in {', '.join(few)}: below {table['least']:.0%}")
    if untested:
        print(f"survivors without a test or a reason: {', '.join(untested)}")
    return 1 if few or untested else 0


if __name__ == "__main__":
    sys.exit(main())
