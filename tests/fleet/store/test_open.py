"""Opening: migrates by itself, and refuses in one sentence what it cannot serve."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store, StoreError
from holdfast.fleet.store.errors import public
from holdfast.fleet.store.schema import PARTITIONED, metadata
from holdfast.model.lifecycle import NodeState

from .lives import arrived


def test_what_was_stored_is_there_when_opened_again(open_store: Callable[[], Store]) -> None:
    first = open_store()
    first.transit_all([arrived(NodeState(name="n1"))], first.lead("test", 10, now=1.0) or 0)
    first.close()
    assert [node.name for node in open_store().nodes()] == ["n1"]


def test_migrations_end_at_the_schema_that_the_code_uses(store: Store, url: str) -> None:
    def ours(thing: object, name: str | None, kind: str, *_: object) -> bool:
        parts = tuple(f"{table.name}_" for table in PARTITIONED)
        return not (kind == "table" and name is not None and name.startswith(parts))

    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_newer_schema_is_refused_and_left_as_it_is(store: Store, url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="schema 9999 is newer than"):
        Store.open(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "nonsense"),
        ("mysql://root@localhost/x", "expected sqlite:///PATH or postgresql"),
        ("sqlite://", "a store needs a file"),
        ("sqlite:////nowhere/at/all/x.db", "No such file or directory"),
        ("sqlite:////", "directory"),
        ("postgresql+psycopg://someone:password@127.0.0.1:1/x", "refused"),
    ],
)
def test_a_url_that_cannot_be_opened_is_one_sentence_without_the_password(url: str, says: str) -> None:
    with pytest.raises(StoreError, match=says) as caught:
        Store.open(url)
    assert "\n" not in str(caught.value)
    assert "password" not in str(caught.value)


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("milk, eggs, bread\n" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store.open(f"sqlite:///{file}")
    assert file.read_text() == "milk, eggs, bread\n" * 100


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/holdfast.db")
    store.lead("test", 10)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    store.close()
    assert set(modes.values()) == {0o600}


def test_a_client_does_not_learn_the_databases_host_or_user() -> None:
    engine = StoreError('store postgresql+psycopg://holdfast@10.0.0.5/fleet: connection to server at "10.0.0.5" failed')
    assert "10.0.0.5" not in public(engine)
    assert "holdfast@" not in public(engine)
    assert public(StoreError("action 7: no action has this number")) == "action 7: no action has this number"
