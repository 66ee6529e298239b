"""Resources of a training process that must be closed before the script starts again."""

import contextlib
from collections.abc import Callable
from typing import Protocol
from weakref import ref


class Closable(Protocol):
    def close(self) -> None: ...


_open: "list[ref[Closable]]" = []
_on_save: list[Callable[[], None]] = []


def opened(thing: Closable) -> None:
    """Registers a resource that is closed if the script does not close it: a keeper serves one connection per rank."""
    _open[:] = [one for one in _open if one() is not None]
    _open.append(ref(thing))


def close_all() -> None:
    """Closes the newest first, because it may use older ones."""
    while _open:
        thing = _open.pop()()
        if thing is not None:
            with contextlib.suppress(Exception):  # its run is over, so errors do not matter
                thing.close()


def when_saved(callback: Callable[[], None]) -> None:
    _on_save[:] = [callback]


def saved() -> None:
    """Records that a step of this run is in memory: a restart now makes progress."""
    for callback in _on_save:
        callback()
