"""A source that reads its parts one after another, and can abandon a part whose driver hangs. This costs nothing while
all parts answer. When a read exceeds the source's deadline, the runner calls `abandon` and continues with another
thread, so only the part that hangs is missing. The abandoned thread ends when its call returns, and the part is read
again.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping


class PartReads:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = 0  # counts abandoned reads
        self._under_way: tuple[Hashable, float] | None = None
        self._stuck: dict[Hashable, float] = {}  # part -> since when

    def run(self, calls: Mapping[Hashable, Callable[[], None]]) -> bool:
        """Whether this read may continue: not after it was abandoned."""
        generation = self._generation
        for part, call in calls.items():
            with self._lock:
                if part in self._stuck:
                    continue
                self._under_way = part, time.monotonic()
            call()
            with self._lock:
                if self._generation != generation:
                    self._stuck.pop(part, None)
                    return False
                self._under_way = None
        return True

    def abandon(self) -> bool:
        """Abandon the part that is being read. False if no part is being read: the whole source hangs."""
        with self._lock:
            if self._under_way is None:
                return False
            part, since = self._under_way
            self._stuck[part], self._under_way = since, None
            self._generation += 1
            return True

    def hanging(self, part: Hashable) -> float | None:
        """For how many seconds a part has not answered; None when it does."""
        since = self._stuck.get(part)
        return None if since is None else time.monotonic() - since
