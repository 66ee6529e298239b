"""Store errors: one sentence each, and nothing half-written."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

_FULL = ("disk is full", "No space left", "disk quota", "could not extend")


class StoreError(Exception):
    """The operation failed and nothing was written. The writer may try again."""


class BadCursor(StoreError):
    """The caller's cursor names no page of a history; the store has no fault."""


class StaleEpoch(StoreError):
    """Another controller leads now. The whole operation was refused."""

    def __init__(self, mine: int, current: int | None) -> None:
        super().__init__(f"epoch {mine} no longer leads (the leader's epoch is {current or 'not set'})")
        self.mine, self.current = mine, current


def public(error: StoreError) -> str:
    """The message for clients. The engine's own message names host and user of the database and goes to the log
    only."""
    words = str(error)
    if not words.startswith("store "):
        return words
    full = any(sign in words for sign in _FULL)
    return "the store's disk is full" if full else "the store cannot be used now; the controller's log says why"


@contextmanager
def one_sentence(where: str) -> Iterator[None]:
    """Turns errors of the engine into a StoreError that names the store."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"store {where}: {_first_line(error.orig)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"store {where}: {_first_line(error)}") from error


def _first_line(error: BaseException | None) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
