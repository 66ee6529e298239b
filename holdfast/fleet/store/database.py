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
    """One connection that writes, some that read. What it cannot do is a StoreError, and then nothing was written."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        self._writer, self._reader = writer, reader
        self._where = writer.url.render_as_string(hide_password=True)
        self._make_partitions_at = 0.0
        self._joined: Connection | None = None
        self._spoiled: StoreError | None = None
        self._steps: Rows = []

    @classmethod
    def open(cls, url: str) -> Self:
        """Open and bring the schema up to date."""
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
        """For questions alone: nothing is made or brought up to date. Raises StoreError where the schema is another."""
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
        """All that is written inside is one commit, or nothing of it is written. For the one writing thread.

        Both engines may undo the whole transaction when a statement fails, and their COMMIT then says nothing: whoever
        inside went on after an error would have what came before acknowledged and lost."""
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
        """Committed when the block is left, and only then; inside `together`, with all the rest."""
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
        """Prepare the coming weeks when it is time to, outside any batch. They are prepared well before they begin,
        and there is a default partition: failing here loses nothing."""
        if now < self._make_partitions_at:
            return
        try:
            with self._writing() as connection:
                self._make_partitions_at = retention.partitions_ahead(connection, now)
        except StoreError as error:
            self._make_partitions_at = now + 3_600
            log.warning("partitions for the coming weeks could not be created; next attempt in an hour: %s", error)

    def retain(self, before: float, most: int = 10_000) -> int:
        """Forget a bounded part of what is older; ask again until 0."""
        with self._writing() as connection:
            return retention.retain(connection, before, most)
