"""Fixes for a source that cannot be read. A source without an entry gets the default."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _fixes() -> list[dict[str, Any]]:
    text = files(__package__).joinpath("fixes.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["fix"]
    return found


def fix_for(source: str, reason: str) -> str:
    """The first entry whose source and text match; the last entry matches everything."""
    for fix in _fixes():
        if source in fix.get("sources", [source]) and fix.get("says", "") in reason.lower():
            return str(fix["do"])
    return ""
