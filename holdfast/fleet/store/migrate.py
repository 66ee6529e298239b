"""Schema migrations. A schema newer than this code is refused."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from holdfast.fleet.store.errors import StoreError

HERE = Path(__file__).parent / "migrations"
MAINTENANCE_LOCK = 7_103_562  # an arbitrary number, equal in all controllers


def config(connection: Connection) -> Config:
    made = Config()
    made.set_main_option("script_location", str(HERE).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def migrate(connection: Connection) -> None:
    """Migrates in the caller's transaction, so that a failed or killed migration leaves the schema unchanged."""
    alone(connection)
    made = config(connection)
    known = ScriptDirectory.from_config(made)
    found = MigrationContext.configure(connection).get_current_revision()
    if found == known.get_current_head():
        return
    _refuse_newer(connection, known, found)
    command.upgrade(made, "head")


def must_be_current(connection: Connection) -> None:
    """Checks the schema for readers. Raises StoreError if it differs; changes nothing."""
    known = ScriptDirectory.from_config(config(connection))
    found = MigrationContext.configure(connection).get_current_revision()
    _refuse_newer(connection, known, found)
    if found != known.get_current_head():
        raise StoreError(
            f"store {connection.engine.url.render_as_string()}: its schema is {found or 'none'}, expected "
            f"{known.get_current_head()}; a controller of this version brings it up to date when it starts"
        )


def _refuse_newer(connection: Connection, known: ScriptDirectory, found: str | None) -> None:
    newest = known.get_current_head()
    if found is not None and found not in {script.revision for script in known.walk_revisions()}:
        raise StoreError(
            f"store {connection.engine.url.render_as_string()}: its schema {found} is newer than {newest}, "
            "the newest this Holdfast knows; use the newer Holdfast or a backup from before the upgrade"
        )


def alone(connection: Connection) -> None:
    """Locks out other controllers during a migration. SQLite's write transaction is that lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MAINTENANCE_LOCK})
