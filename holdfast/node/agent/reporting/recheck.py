"""Reads failing checks again before the result of a full test is sent.

The suite reads every source; the agent's own verdicts are as old as their last reading. After a repair the suite may
pass while an old verdict still fails, and the controller would count the test as failed.
"""

import threading
from collections.abc import Callable, Collection

from holdfast.model.signal import Reading

MOST_SECONDS = 30.0  # longer than a source's deadline, after which its silence is a reading


class Recheck:
    """The order thread calls `take`, the evaluation thread the other methods."""

    def __init__(
        self,
        doubted: Callable[[], Collection[str]],
        read_now: Callable[[Collection[str]], set[str]],
        clock: Callable[[], float],
    ) -> None:
        self._doubted = doubted  # the sources of failing verdicts
        self._read_now = read_now
        self._clock = clock
        self._read_at: dict[str, float] = {}  # source -> time of its last reading that is not evaluated yet
        self._evaluated_at: dict[str, float] = {}
        self._news = threading.Condition()

    def take(self, most_seconds: float = MOST_SECONDS) -> bool:
        """Return when all failing checks were read and evaluated again and their changes were sent. False: timed
        out."""
        if not (doubted := self._doubted()):
            return True
        asked_at = self._clock()
        awaited = self._read_now(doubted)

        def all_judged() -> bool:
            return all(self._evaluated_at.get(name, float("-inf")) >= asked_at for name in awaited)

        with self._news:
            return self._news.wait_for(all_judged, most_seconds)

    def record(self, reading: Reading) -> None:
        self._read_at[reading.source] = reading.at

    def evaluated(self) -> None:
        """All readings so far are evaluated, and the changes were sent."""
        with self._news:
            self._evaluated_at.update(self._read_at)
            self._news.notify_all()
