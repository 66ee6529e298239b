"""On a busy machine a child takes seconds to start, and a healthy mount would be called slow."""

import time
from collections.abc import Iterator

import pytest

from holdfast.node.sources.host import storage


class Clock:
    """Goes on only while somebody waits."""

    def __init__(self) -> None:
        self._now = 1000.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        time.sleep(seconds)


@pytest.fixture(scope="module", autouse=True)
def storage_clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "time", Clock())
        yield
