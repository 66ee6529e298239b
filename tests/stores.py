"""Empty stores in a file, copied: to migrate each anew takes longer than most tests that use one."""

import tempfile
from functools import cache
from pathlib import Path

from holdfast.fleet.store import Store


def new_store(file: Path) -> str:
    """The URL of a store that nobody has used."""
    file.write_bytes(_migrated())
    return f"sqlite:///{file}"


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "holdfast.db"
        Store.open(f"sqlite:///{file}").close()
        return file.read_bytes()
