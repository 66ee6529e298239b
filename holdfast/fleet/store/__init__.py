"""What the controller remembers: SQLite by default, PostgreSQL by URL, one schema and one API for both."""

from holdfast.fleet.store.errors import StaleEpoch, StoreError
from holdfast.fleet.store.store import Store

__all__ = ["StaleEpoch", "Store", "StoreError"]
