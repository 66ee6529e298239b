"""A source that reads its parts one after the other, and can leave behind the one whose driver hangs.

It costs nothing while all answer. The runner calls `abandon` when a read passed the source's deadline, and reads on
with another thread: the part that hangs costs its own answers and no other part's. The thread that was left behind ends
when its call returns, and the part is read again.
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
        """Whether this read may go on: not after it was left behind, with another thread in its place."""
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
        """Leave the part behind that is being read. False where there is none: the whole source hangs."""
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
