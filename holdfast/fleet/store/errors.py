"""Store errors: one sentence each, and nothing half-written."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

_FULL = ("disk is full", "No space left", "disk quota", "could not extend")


class StoreError(Exception):
    """The store could not do it. Nothing of it was written; the writer may try again."""


class StaleEpoch(StoreError):
    """Another controller leads now: whatever was asked for was refused whole."""

    def __init__(self, mine: int, current: int | None) -> None:
        super().__init__(f"epoch {mine} does not lead any more (the leader's epoch is {current or 'not set'})")
        self.mine, self.current = mine, current


def public(error: StoreError) -> str:
    """What a client is shown: the engine's own words name the database's host and user, and are for the log."""
    words = str(error)
    if not words.startswith("store "):
        return words
    full = any(sign in words for sign in _FULL)
    return "the store's disk is full" if full else "the store cannot be used now; the controller's log says why"


@contextmanager
def one_sentence(where: str) -> Iterator[None]:
    """Whatever the engine says becomes a StoreError that names the store."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"store {where}: {_first_line(error.orig)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"store {where}: {_first_line(error)}") from error


def _first_line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
