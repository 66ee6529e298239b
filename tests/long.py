"""Tests that `make quick` leaves out because they take long; `make test` runs them.

`tests/long.txt` names functions, and files that have nothing else. It is measured anew by
`python -m pytest -m "not slow and not soak" --forks 4 --write-long`.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("long.txt")
LONG_SECONDS = 0.15  # of all examples and parameters of a function together
TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


@cache
def listed() -> frozenset[str]:
    return frozenset(line for line in LIST.read_text().splitlines() if line and not line.startswith("#"))


def function(nodeid: str) -> str:
    """Without parameters: `tests/a.py::test_b[c]` is `tests/a.py::test_b`."""
    return nodeid.partition("[")[0]


def is_long(nodeid: str) -> bool:
    return function(nodeid) in listed() or nodeid.partition("::")[0] in listed()


class Measure:
    """Writes the list: what took longer, by function; a file whose every test did, by its name alone."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[function(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        files: dict[str, list[str]] = defaultdict(list)
        for name, seconds in self._seconds.items():
            if seconds > LONG_SECONDS:
                files[name.partition("::")[0]].append(name)
        lines = []
        for file, names in sorted(files.items()):
            known = {name for name in self._seconds if name.startswith(f"{file}::")}
            lines += [file] if known <= set(names) else sorted(names)
        head = "# Tests that take long (tests/long.py): `make quick` leaves them out, `make test` runs them.\n"
        LIST.write_text(head + "".join(f"{line}\n" for line in lines))
