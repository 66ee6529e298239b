"""For every test: how many examples a property gets, and that no clock judges one.

How long an example takes says more of the machine than of us. While one works (`quick`) and before one pushes (`test`)
the examples of a test follow from its text, so that what is red is red again; `make soak` throws dice.
"""

import gc

import pytest
from hypothesis import HealthCheck, settings

from .forked import HALF
from .strict_skips import StrictSkips

CLOCKLESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", CLOCKLESS, max_examples=25, derandomize=True)
settings.register_profile("test", CLOCKLESS, max_examples=100, derandomize=True)
settings.register_profile("soak", CLOCKLESS, max_examples=1000)
settings.load_profile("quick")

gc.disable()  # nothing of what is collected goes away, and to look through it again and again takes seconds


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


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


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(StrictSkips(), "strict-skips")
    HALF["quick"] = str(config.option.markexpr).startswith("not slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))
