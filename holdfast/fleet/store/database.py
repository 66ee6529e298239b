"""Database connection: opens and verifies a store's file or server, and runs transactions."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Connection, Engine

from holdfast.fleet.store import actions, engine, leadership, retention
from holdfast.fleet.store.bulk import Rows
from holdfast.fleet.store.errors import StoreError, one_sentence
from holdfast.fleet.store.migrate import migrate, must_be_current

log = logging.getLogger("holdfast.fleet.store")


class Kept:
    """One connection for writing, several for reading. A failed operation raises StoreError and writes nothing."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        self._writer, self._reader = writer, reader
        self._where = writer.url.render_as_string(hide_password=True)
        self._make_partitions_at = 0.0
        self._joined: Connection | None = None
        self._spoiled: StoreError | None = None
        self._steps: Rows = []

    @classmethod
    def open(cls, url: str) -> Self:
        """Opens the database and migrates the schema."""
        with one_sentence(url.rpartition("@")[2]):
            parsed = engine.parse(url)
            engine.make_private(parsed)
            opened = cls(engine.writer(parsed), engine.reader(parsed))
        try:
            with opened._writing() as connection:
                migrate(connection)
                opened._make_partitions_at = retention.partitions_ahead(connection, engine.clock(connection))
        except BaseException:
            opened.close()
            raise
        return opened

    @classmethod
    def open_read_only(cls, url: str) -> Self:
        """Opens for reading only: nothing is created or migrated. Raises StoreError if the schema differs."""
        with one_sentence(url.rpartition("@")[2]):
            parsed = engine.parse(url)
            engine.must_be_there(parsed)
            opened = cls(engine.writer(parsed), engine.reader(parsed))
        try:
            with opened._reading() as connection:
                must_be_current(connection)
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        self._writer.dispose()
        self._reader.dispose()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything written inside the block is one commit, or nothing is written. Only for the writer's thread.

        Both engines may roll back the whole transaction when a statement fails, and COMMIT then reports no error. So
        code inside the block must not continue after an error: earlier writes would be acknowledged and lost.
        """
        with self._writing() as connection:
            self._joined, self._steps, self._spoiled = connection, [], None
            try:
                yield
                actions.note(connection, self._steps)
                if self._spoiled is not None:
                    raise self._spoiled
            finally:
                self._joined = None

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Commits at the end of the block, or together with the rest inside `together`."""
        if self._joined is not None:
            try:
                with one_sentence(self._where):
                    yield self._joined
            except StoreError as error:
                self._spoiled = error
                raise
            return
        with one_sentence(self._where), self._writer.begin() as connection:
            connection.info.pop(leadership.FENCED, None)
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with one_sentence(self._where), self._reader.begin() as connection:
            yield connection

    def prepare(self, now: float) -> None:
        """Creates the partitions of the coming weeks when they are due, outside any batch. A failure loses nothing:
        they are created well ahead, and there is a default partition."""
        if now < self._make_partitions_at:
            return
        try:
            with self._writing() as connection:
                self._make_partitions_at = retention.partitions_ahead(connection, now)
        except StoreError as error:
            self._make_partitions_at = now + 3_600
            log.warning("partitions for the coming weeks could not be created; next attempt in an hour: %s", error)

    def retain(self, before: float, most: int = 10_000) -> int:
        """Deletes a bounded number of old rows. Call it again until it returns 0."""
        with self._writing() as connection:
            return retention.retain(connection, before, most)
