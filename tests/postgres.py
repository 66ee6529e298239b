"""A PostgreSQL server of the tests: one of its own, which ends with them. Skips where none is installed."""

import subprocess
import sys
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store

SCRIPT = Path(__file__).parents[1] / "scripts" / "throwaway_postgres.py"


class Server:
    """The throw-away server, by its standard input and output."""

    def __init__(self) -> None:
        command, pipe = [sys.executable, str(SCRIPT), "fsync=off"], subprocess.PIPE
        self.process = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self.url = self.read_url()

    @cached_property
    def template(self) -> str:
        made = self.new_database("template1")
        Store.open(made).close()
        return made

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
        """By a signal: a process that a test forked may hold our end of its standard input open."""
        self.process.terminate()
        self.process.communicate(timeout=60)
