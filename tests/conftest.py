"""For every test: no example has a deadline. How long one takes says more of the machine than of us."""

import pytest
from hypothesis import settings

settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")

# Workers share the files out in this order; a long file that comes last leaves the others idle for minutes.
LONGEST_FIRST = (
    "tests/console/test_tour.py",
    "tests/node/probes/test_run.py",
    "tests/fleet/controller/test_trainings.py",
    "tests/training/",
    "tests/supervisor/",
    "tests/fleet/survival/",
    "tests/node/agent/test_daemon.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))
