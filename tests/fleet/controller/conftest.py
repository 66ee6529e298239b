"""A PostgreSQL server of our own, where one is installed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
