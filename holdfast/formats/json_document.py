"""The JSON document in a tool's output, parsed once for several readers."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def find(text: str) -> Any:
    """The first document of a text that begins with one, or after a line or two of warnings. None without."""
    start = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    if start < 0 or text.count("\n", 0, start) > 5:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0]
    except (ValueError, RecursionError):
        return None


def walk(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every object in a document, outer ones first, with the names that lead to it."""
    if isinstance(value, dict):
        yield above, value
        for name, inner in value.items():
            yield from walk(inner, (*above, str(name)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from walk(inner, (*above, str(number)))
