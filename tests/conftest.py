"""For every test: no example has a deadline. How long one takes says more of the machine than of us."""

import pytest
from hypothesis import settings

from .strict_skips import StrictSkips

settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")

# Workers share the files out in this order; a long file that comes last leaves the others idle for minutes.
LONGEST_FIRST = (
    "tests/console/test_tour.py",
    "tests/probes/test_run.py",
    "tests/controller/test_trainings.py",
    "tests/training/",
    "tests/supervisor/",
    "tests/survival/",
    "tests/agent/test_daemon.py",
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(StrictSkips(), "strict-skips")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))
