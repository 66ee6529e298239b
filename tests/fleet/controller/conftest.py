"""A controller for all tests whose nodes have names of their own; a PostgreSQL server where one is installed."""

from collections.abc import Iterator

import pytest

from tests.postgres import Server

from .running import Controller, running


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of an empty database."""
    server = Server()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    policy = "dry_run = false\nbreaker_share = 1.0\n"
    with running(tmp_path_factory.mktemp("controller"), policy=policy) as one:
        yield one
