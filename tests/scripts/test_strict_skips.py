"""A skip for a reason that nobody allowed fails in CI, wherever it comes from, with and without workers."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ..strict_skips import ALLOWED, StrictSkips  # noqa: TID252  tests are no package to name

TESTS = Path(__file__).parents[1]
CONFTEST = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from strict_skips import StrictSkips

def pytest_configure(config):
    config.pluginmanager.register(StrictSkips(Path(__file__).with_name("list.toml")), "strict-skips")
"""
LIST = """
[[allowed]]
reason = "the moon is (full|new)"
why = "nothing to be done"
"""
INSIDE = "import pytest\ndef test_it():\n    pytest.skip({reason!r})\n"
MARKED = "import pytest\n@pytest.mark.skipif(True, reason={reason!r})\ndef test_it():\n    pass\n"
FIXTURE = "import pytest\n@pytest.fixture\ndef server():\n    pytest.skip({reason!r})\ndef test_it(server):\n    pass\n"
WHOLE_FILE = "import pytest\npytest.importorskip('no_such_module_here', reason={reason!r})\ndef test_it():\n    pass\n"
WORKERS = pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")], ids=["alone", "workers"])
Ran = Callable[..., tuple[int, str]]
pytest_plugins = "pytester"


@pytest.fixture
def ran(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Ran:
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # what others bring takes longer to load than these tests

    def run(reason: str, ci: str, *files: str, workers: tuple[str, ...] = ()) -> tuple[int, str]:
        monkeypatch.setenv("CI", ci)
        pytester.makeconftest(CONFTEST)
        (pytester.path / "list.toml").write_text(LIST)
        for number, file in enumerate((*files, "def test_that_passes():\n    pass\n")):
            (pytester.path / f"test_{number}.py").write_text(file.replace("{reason!r}", repr(reason)))
        start = pytester.runpytest_subprocess if workers else pytester.runpytest_inprocess
        done = start("-p", "no:cacheprovider", *workers)
        return int(done.ret), str(done.stdout)

    return run


@WORKERS
def test_in_ci_another_reason_fails(ran: Ran, workers: tuple[str, ...]) -> None:
    status, output = ran("the server is missing", "true", INSIDE, MARKED, FIXTURE, workers=workers)
    assert status == 1, output
    assert "1 failed, 1 passed, 2 errors" in output  # a skip before the test itself counts as an error
    assert "skipped, which CI does not allow for this reason: the server is missing\n" in output
    assert "skipped: 0 allowed, 3 not allowed\n  3 not allowed: the server is missing" in output


@WORKERS
def test_in_ci_a_whole_file_that_skips_for_another_reason_fails(ran: Ran, workers: tuple[str, ...]) -> None:
    status, output = ran("the module is missing", "true", WHOLE_FILE, workers=workers)
    assert status != 0, output
    assert "skipped, which CI does not allow for this reason: the module is missing\n" in output
    assert "skipped: 0 allowed, 1 not allowed\n  1 not allowed: the module is missing" in output


@WORKERS
def test_in_ci_an_allowed_reason_is_a_skip(ran: Ran, workers: tuple[str, ...]) -> None:
    every = (INSIDE, MARKED, FIXTURE, WHOLE_FILE)
    status, output = ran("the moon is full", "true", *every, workers=workers)
    assert status == 0, output
    assert "skipped: 4 allowed, 0 not allowed\n  4 allowed: the moon is full" in output


def test_elsewhere_another_reason_is_a_skip_that_is_counted(ran: Ran) -> None:
    status, output = ran("the server is missing", "", INSIDE, MARKED, FIXTURE, WHOLE_FILE)
    assert status == 0, output
    assert "skipped: 0 allowed, 4 not allowed\n  4 not allowed: the server is missing" in output


@pytest.mark.parametrize(("reason", "counted"), [("the moon is full or gone",) * 2, ("", "no reason given")])
def test_a_reason_is_allowed_as_a_whole(ran: Ran, reason: str, counted: str) -> None:
    status, output = ran(reason, "true", INSIDE)
    assert status == 1 and f"1 not allowed: {counted}" in output


def test_a_failure_that_is_expected_is_no_skip(ran: Ran) -> None:
    file = "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_it():\n    assert False\n"
    status, output = ran("", "true", file)
    assert status == 0 and "skipped: 0 allowed, 0 not allowed" in output


def test_every_row_of_the_list_says_why() -> None:
    rows = tomllib.loads(ALLOWED.read_text())["allowed"]
    assert all(set(row) == {"reason", "why"} and row["why"] for row in rows)


@pytest.mark.parametrize(
    "reason",
    [
        "could not import 'torch': No module named 'torch'",
        "torch is not installed",
        "no munged, slurmctld here; scripts/system-packages installs Slurm",
        "PostgreSQL is not installed below /usr/lib/postgresql",
        "slurm is not among the captured data",
    ],
)
def test_what_can_be_installed_or_was_lost_is_not_on_the_list(reason: str) -> None:
    assert not StrictSkips().why(reason)
