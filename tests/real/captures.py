"""Where the real captures are. They are not part of the project: without their folder the tests of this one skip."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HOLDFAST_REAL_DATA", Path(__file__).parents[3] / "shared" / "data"))


def missing(path: Path) -> str:
    """Why a test cannot read this capture. No folder at all is allowed everywhere; a hole in it is not."""
    if not DATA.is_dir():
        return f"no captured data: there is no folder {DATA}"
    return "" if path.exists() else f"{path.relative_to(DATA)} is not among the captured data"


def needs(path: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(missing(path)), reason=missing(path))


def there(path: Path) -> Path:
    """The path itself, for one capture among several."""
    if why := missing(path):
        pytest.skip(why)
    return path
