"""SQLite and PostgreSQL engines: durability settings and timeouts."""

import errno
import os
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text

from holdfast.fleet.store.errors import StoreError
from holdfast.runtime.clock import now

SCHEMES = "sqlite:///PATH or postgresql+psycopg://USER@HOST/DATABASE"
BUSY_SECONDS = 10
# A leader that is suspended inside a transaction locks the leader's row. The server ends the transaction, so that
# another controller can lead.
IDLE_IN_TRANSACTION_MS = 3_000
STATEMENT_MS = 30_000
LOCK_MS = 8_000


def parse(url: str) -> URL:
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreError(f"store {parsed.render_as_string(hide_password=True)}: expected {SCHEMES}")
    if parsed.database in (None, "", ":memory:"):
        raise StoreError(f"store {url}: a store needs a file; expected {SCHEMES}")
    return parsed


def writer(url: URL) -> Engine:
    """The engine with one connection, for the only writer."""
    return _engine(url, read_only=False, pool_size=1, max_overflow=0)


def reader(url: URL) -> Engine:
    return _engine(url, read_only=True, pool_size=4, max_overflow=4)


def clock(connection: Connection) -> float:
    """The clock that all controllers of this store share. Leases use it, not the clock of a machine."""
    if connection.dialect.name == "sqlite":
        return now()
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _engine(url: URL, *, read_only: bool, **pool: int) -> Engine:
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, read_only=read_only, **pool)
    settings = {
        "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_MS,
        "statement_timeout": STATEMENT_MS,
        "lock_timeout": LOCK_MS,
        "default_transaction_read_only": "on" if read_only else "off",
    }
    timeout = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    # A read is one statement; a transaction around it would double its cost.
    level = {"isolation_level": "AUTOCOMMIT"} if read_only else {}
    arguments = {**timeout, "tcp_user_timeout": 10_000, "options": options}
    return create_engine(url, connect_args=arguments, **level, **pool)


def _sqlite(url: URL, *, read_only: bool, **pool: int) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # `begin` below starts transactions, not the driver
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk; batches make it cheap
        connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def must_be_there(url: URL) -> None:
    """Raises an error if the file is missing, because SQLite would create an empty one."""
    if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
        raise StoreError(f"store {url.database}: there is no such file")


def make_private(url: URL) -> None:
    """Makes the file readable only by its owner, because it holds token hashes.

    An existing file is not opened: closing it would drop the locks that SQLite holds on it for this process. Another
    process that ends would then delete the log of a store in use, and later commits would be lost.
    """
    if url.get_backend_name() != "sqlite" or url.database is None:
        return
    try:
        os.close(os.open(url.database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if os.path.isdir(url.database):
            raise StoreError(f"store {url.database}: {os.strerror(errno.EISDIR)}") from None
        if not os.access(url.database, os.R_OK | os.W_OK):
            raise StoreError(f"store {url.database}: {os.strerror(errno.EACCES)}") from None
    except OSError as error:
        raise StoreError(f"store {url.database}: {error.strerror}") from error
