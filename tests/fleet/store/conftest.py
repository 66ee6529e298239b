"""The same tests on both engines: SQLite in a file, and a real PostgreSQL server of our own when one is installed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.fleet.store import Store
from tests.postgres import Server
from tests.stores import new_store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store nobody has used yet."""
    if request.param == "sqlite":
        return new_store(tmp_path / "holdfast.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_store()


@pytest.fixture
def open_store(url: str) -> Iterator[Callable[[], Store]]:
    """Opens the same store as often as asked, as several controllers do."""
    opened: list[Store] = []

    def open_one() -> Store:
        opened.append(Store.open(url))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()
