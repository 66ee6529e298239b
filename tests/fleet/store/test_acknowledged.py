"""What `record` answered for is in the store: whoever opens the file beside it, and whatever fails inside a batch."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from holdfast.fleet.store import Store, StoreError

from .writer import report

NOW = 1_800_000_000.0
LOOK = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM sessions').fetchall(); c.close()"
)


def seen(file: Path) -> list[tuple[str]]:
    with sqlite3.connect(file) as connection:
        return connection.execute("SELECT seen FROM sessions").fetchall()


@pytest.mark.parametrize("beside", ["open", "closed"])
def test_a_second_store_in_this_process_and_a_reader_in_another_lose_nothing(tmp_path: Path, beside: str) -> None:
    """Closing any descriptor of the file drops the locks of the whole process; the reader that ends would then take
    itself for the last one and delete the write-ahead log."""
    file = tmp_path / "holdfast.db"
    store = Store.open(f"sqlite:///{file}")
    assert store.record([report("s1", 1)], NOW) == [True]
    other = Store.open(f"sqlite:///{file}")
    if beside == "closed":
        other.close()
    subprocess.run([sys.executable, "-c", LOOK, str(file)], check=True)
    assert store.record([report("s1", 2)], NOW) == [True]
    assert seen(file) == [("1-2",)]
    store.close()
    other.close()


def test_a_batch_that_goes_on_after_an_error_is_not_acknowledged(open_store: Callable[[], Store]) -> None:
    """Engines undo the whole transaction at some errors, and a COMMIT after that is silent."""
    store = open_store()
    with pytest.raises(StoreError), store.together():
        assert store.record([report("s1", 1)], NOW) == [True]
        with suppress(StoreError):
            _fail(store)
    with store.together():
        assert store.record([report("s1", 1)], NOW) == [True]
    assert store.record([report("s1", 1)], NOW) == [False]


def _fail(store: Store) -> None:
    with store._writing() as connection:
        if connection.dialect.name == "sqlite":  # as SQLite does it by itself when the disk is full
            connection.exec_driver_sql("ROLLBACK")
        connection.execute(text("SELECT nothing FROM nowhere"))
