"""A controller for all tests whose nodes have names of their own; a PostgreSQL server where one is installed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .running import Controller, running

SCRIPT = Path(__file__).parents[3] / "scripts" / "throwaway_postgres.py"


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of an empty database."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, str(SCRIPT), "fsync=off"], text=True, **pipes)  # type: ignore[call-overload]
    url = process.stdout.readline().strip()
    if not url:
        pytest.skip(process.stderr.read().strip())
    yield url
    process.communicate(timeout=60)


@pytest.fixture(scope="session")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    policy = "dry_run = false\nbreaker_share = 1.0\n"
    with running(tmp_path_factory.mktemp("controller"), policy=policy) as one:
        yield one
