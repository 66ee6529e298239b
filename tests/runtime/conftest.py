"""A clock of commands that a test stops."""

import itertools
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from holdfast.runtime import process

TimeIsUp = Callable[[Callable[[], bool]], None]


@pytest.fixture
def time_is_up(monkeypatch: pytest.MonkeyPatch) -> TimeIsUp:
    """Stops the clock of commands until a condition holds; then what runs has run too long."""
    monkeypatch.setattr(process, "_POLL_SECONDS", 0.01)

    def when(holds: Callable[[], bool]) -> None:
        later = itertools.count(1e6, 1e6)
        clock = SimpleNamespace(monotonic=lambda: next(later) if holds() else 0.0)
        monkeypatch.setattr(process, "time", clock)

    return when
