"""The same tests on both engines: SQLite in a file, and a real PostgreSQL server of our own when one is installed."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store
from tests.stores import new_store

SCRIPT = Path(__file__).parents[3] / "scripts" / "throwaway_postgres.py"


class Server:
    """The throw-away server, by its standard input and output."""

    def __init__(self) -> None:
        command, pipe = [sys.executable, str(SCRIPT), "fsync=off"], subprocess.PIPE
        self.process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self.url = self.read_url()
        self.template = self.new_database("template1")
        Store.open(self.template).close()

    def read_url(self) -> str:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        return self.process.stdout.readline().strip() or pytest.skip(self.process.stderr.read().strip())

    def new_store(self) -> str:
        """A store nobody has used; copied, because to migrate each anew takes most of a second."""
        return self.new_database(self.template.rpartition("/")[2])

    def new_database(self, like: str) -> str:
        name = f"t{uuid4().hex}"
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {like}"))
        engine.dispose()
        return self.url.rpartition("/")[0] + f"/{name}"

    def crash(self) -> None:
        """Killed with SIGKILL and started again on the same data."""
        assert self.process.stdin is not None
        self.process.stdin.write("crash\n")
        self.process.stdin.flush()
        assert self.read_url() == self.url

    def stop(self) -> None:
        self.process.communicate(timeout=60)


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
