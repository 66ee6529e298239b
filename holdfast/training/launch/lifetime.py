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
    """Close it if the script does not: a keeper serves one connection per rank."""
    _open[:] = [one for one in _open if one() is not None]
    _open.append(ref(thing))


def close_all() -> None:
    """The newest first: what was opened last may use what was opened before."""
    while _open:
        thing = _open.pop()()
        if thing is not None:
            with contextlib.suppress(Exception):  # the run that it belonged to is over, whatever state it is in
                thing.close()


def when_saved(callback: Callable[[], None]) -> None:
    _on_save[:] = [callback]


def saved() -> None:
    """A step of this run is in memory: a restart from here comes further than the one before."""
    for callback in _on_save:
        callback()
