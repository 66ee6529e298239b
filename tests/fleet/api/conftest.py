"""One controller for all tests of the API: they look at it, or use nodes of their own."""

from collections.abc import Iterator

import pytest

from ..controller.running import Agent, Controller, running, until  # noqa: TID252  tests are no package to name

__all__ = ["Agent", "Controller", "running", "until"]


@pytest.fixture(scope="session")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    # What one test took out of service is not in the way of the next.
    policy = "dry_run = false\nbreaker_share = 1.0\nbreaker_nodes = 10000\n"
    with running(tmp_path_factory.mktemp("api"), policy=policy) as one:
        yield one
