"""A PostgreSQL server of our own that can be killed, and the choice of engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import Server


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Server | None]:
    """The URL of an empty store, and the server behind it where there is one."""
    if request.param == "sqlite":
        return "", None
    behind: Server = request.getfixturevalue("server")
    return behind.new_store(), behind
