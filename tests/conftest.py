"""For every test: how many examples a property gets, and that no clock judges one.

How long an example takes says more of the machine than of us. While one works (`quick`) and before one pushes (`test`)
the examples of a test follow from its text, so that what is red is red again; `make soak` throws dice.
"""

import gc
import os
import re
import resource
import shutil
import tempfile
from functools import cache
from pathlib import Path

import certifi
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers

from .counts import QUICK_EXAMPLES
from .forked import HALF, serve_forks
from .forks import Forks
from .long import Measure, is_long, listed
from .strict_skips import StrictSkips
from .temporary import is_in_memory, keep_in_memory

_CERTIFICATE = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115  as long as the tests run
CLOCKLESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", CLOCKLESS, max_examples=QUICK_EXAMPLES, derandomize=True)
settings.register_profile("test", CLOCKLESS, max_examples=100, derandomize=True)
settings.register_profile("soak", CLOCKLESS, max_examples=1000)
settings.load_profile("quick")

ROOT = Path(__file__).parent.parent
_ALL_SLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.(slow|soak)\b", re.MULTILINE)
_ANY_SLOW = "pytest.mark.slow"

# A login shell allows 1,024 open files. One process runs a thousand tests, and some leave a few to the collector.
_FILES, _MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
if (_WANTED_FILES := 16_384 if _MOST_FILES == resource.RLIM_INFINITY else min(16_384, _MOST_FILES)) > _FILES:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_WANTED_FILES, _MOST_FILES))

gc.disable()  # nothing of what is collected goes away, and to look through it again and again takes seconds


def pytest_collection_finish() -> None:
    charmap.categories()  # any text begins with it; forks have it for nothing
    gc.freeze()
    gc.enable()


# Workers share the files out in this order; a long file that comes last leaves the others idle for minutes. Those that
# mostly wait come first, so that the others have the processors meanwhile.
LONGEST_FIRST = (
    "tests/console/test_tour.py",
    "tests/console/test_numbers_agree.py",
    "tests/node/agent/test_daemon.py",
    "tests/fleet/controller/test_probing_twin.py",
    "tests/fleet/controller/test_restart_within_faults.py",
    "tests/fleet/controller/test_slurm",
    "tests/fleet/slurm/",
    "tests/training/",
    "tests/node/probes/",
    "tests/fleet/controller/test_trainings.py",
    "tests/supervisor/",
    "tests/fleet/api/test_schemathesis.py",
    "tests/fleet/survival/",
    "tests/node/agent/",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="collect once, and run the tests in so many forks")
    parser.addoption("--write-long", action="store_true", help="write tests/long.txt from how long each test takes")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.forks:
        config.pluginmanager.register(Forks(config.option.forks, serve_forks), "forks")
    if config.option.write_long:
        config.pluginmanager.register(Measure(), "write-long")
    config.pluginmanager.register(StrictSkips(), "strict-skips")
    HALF["quick"] = str(config.option.markexpr).startswith("not slow")
    HALF["short"] = "not long" in str(config.option.markexpr)
    HALF["slow"] = str(config.option.markexpr).startswith("slow and")
    if HALF["quick"]:
        keep_in_memory()
        _trust_one_certificate()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A half imports no file of which it runs no test: some import frameworks, for seconds, in every worker."""
    if collection_path.name.startswith("test_") and collection_path.suffix == ".py":
        if HALF["short"] and str(collection_path.relative_to(ROOT)) in listed():
            return True
        if HALF["quick"]:
            return bool(_ALL_SLOW.search(collection_path.read_text())) or None
        if HALF["slow"]:
            return not _may_be_slow(collection_path) or None
    return None


@cache
def _may_be_slow(file: Path) -> bool:
    """Or what its tests share marks some of them, such as all that ask for PostgreSQL."""
    shared = [path for path in file.parent.glob("*.py") if not path.name.startswith("test_")]
    return any(_ANY_SLOW in path.read_text() for path in (file, *shared))


def _trust_one_certificate() -> None:
    """Everybody who speaks TLS reads this machine's hundred and forty first, for 50 ms; quick tests speak with ours."""
    first, end, _ = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")
    _CERTIFICATE.write(f"{first}{end}\n")
    _CERTIFICATE.flush()
    os.environ["SSL_CERT_FILE"] = _CERTIFICATE.name


def pytest_sessionstart() -> None:
    if settings.default.max_examples <= QUICK_EXAMPLES:  # type: ignore[union-attr]
        # Hypothesis also tries every constant of every module loaded so far: to sort them out takes longer than most
        # properties, and what a test tries would follow from what was imported before it. `make test` has them.
        providers._get_local_constants = lambda: providers._local_constants


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What passed leaves nothing in memory; what failed leaves its files, as pytest does."""
    folder = session.config._tmp_path_factory._basetemp  # type: ignore[attr-defined]
    if exitstatus == 0 and folder is not None and is_in_memory(folder):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before `-m` asks for marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not _may_be_slow(item.path):
            raise pytest.UsageError(f"{item.nodeid} is slow, but no `{_ANY_SLOW}` is written there: it would never run")
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    for place, beginning in enumerate(LONGEST_FIRST):
        if item.nodeid.startswith(beginning):
            return place
    return len(LONGEST_FIRST)
