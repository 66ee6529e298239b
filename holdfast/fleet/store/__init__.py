"""The controller's store: SQLite by default, PostgreSQL by URL, with one schema and one interface."""

from holdfast.fleet.store.errors import BadCursor, StaleEpoch, StoreError
from holdfast.fleet.store.store import Store

__all__ = ["BadCursor", "StaleEpoch", "Store", "StoreError"]
