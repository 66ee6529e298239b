"""The keeper's share of busy processors, where the kernel distributes them by session.

With autogroups (on by default in most kernels, outside of cgroups with a share of their own) every session gets the
same share of a busy processor, whatever the niceness of its threads. A keeper has its own session and would take half
of a rank's share.

The session itself has a niceness. It is highest while the keeper keeps up with the saves, and decreases otherwise: on
processors that are always busy, copies would never run. A rank that waits for an answer resets the niceness itself,
because the keeper may not run in time to do it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEVELS = (19, 10, 5, 0)  # niceness: a 70th, a 10th, a quarter and all of a rank's share of a busy processor
ON_TIME = 50  # saves in a row before the niceness increases again
AUTOGROUP = "/proc/{}/autogroup"
OWN_AUTOGROUP = Path("/proc/self/autogroup")


def wake(pid: int) -> None:
    """Gives a keeper its full share, because the caller waits for it. The keeper's next check sets the niceness
    again."""
    with suppress(OSError):
        Path(AUTOGROUP.format(pid)).write_text("0\n")


class Deference:
    def __init__(self, awaited: Callable[[], bool], file: Path = OWN_AUTOGROUP) -> None:
        self._awaited, self._file = awaited, file  # awaited: whether a rank waits, or a copy is long overdue
        self._level = 0
        self._trains = False
        self._waiting = 0
        self._in_time = 0
        self._lock = threading.Lock()

    def starting(self) -> None:
        """Called when a rank connects: it loads a step and waits for the keeper."""
        self._change(trains=False)

    def training(self) -> None:
        self._change(trains=True)

    def on_time(self) -> None:
        """Called when a save found a free buffer."""
        with self._lock:
            self._in_time += 1
            if self._in_time >= ON_TIME:
                self._level, self._in_time = max(self._level - 1, 0), 0
            self._apply()

    @contextmanager
    def hurry(self, behind: bool) -> Iterator[None]:
        """Called when a save waits for a buffer while copies of its rank are being sent: these must complete."""
        if not behind:
            yield
            return
        with self._lock:
            self._level, self._in_time = min(self._level + 1, len(LEVELS) - 1), 0
        with self.urgent():
            yield

    @contextmanager
    def urgent(self) -> Iterator[None]:
        """Marks work that a rank waits for."""
        with self._lock:
            self._waiting += 1
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                self._apply()

    def niceness(self) -> int:
        return LEVELS[self._level] if self._trains and not self._waiting and not self._awaited() else 0

    def apply(self) -> None:
        """Sets the niceness again: a rank may have changed it, and the kernel accepts only ten changes per second
        from users other than root."""
        with self._lock:
            self._apply()

    def _change(self, trains: bool) -> None:
        with self._lock:
            self._trains = trains
            self._apply()

    def _apply(self) -> None:
        niceness = self.niceness()
        with suppress(OSError):  # the kernel has no autogroups: there the niceness of threads applies
            if self._file.read_text().split()[-1:] != [str(niceness)]:
                self._file.write_text(f"{niceness}\n")
