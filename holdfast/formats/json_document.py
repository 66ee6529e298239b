"""The JSON document in a tool's output, parsed once for several readers."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def find(text: str) -> Any:
    """The JSON document of a text that begins with one, or with one or two lines of warnings before it. None if there
    is none.

    For a truncated document, the part that is complete; for one without its beginning, the part from its first member
    on.
    """
    if _MEMBER.match(text):
        text = "{" + text
    start = next((at for at in (m.start() for m in _START.finditer(text))), -1)
    if start < 0 or text.count("\n", 0, start) > 5:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0]
    except RecursionError:
        return None
    except ValueError:
        return _closed(text[start:])


def breaks_off(text: str) -> bool:
    """Whether there is a document whose end is missing."""
    start = _START.search(text)
    if find(text) is None:
        return False
    if start is None or _MEMBER.match(text):
        return True
    try:
        json.JSONDecoder().raw_decode(text[start.start() :])
    except (ValueError, RecursionError):
        return True
    return False


def _closed(text: str) -> Any:
    """The text up to its last complete value, with open brackets closed. None if the text is invalid, not only
    truncated."""
    open_ones, whole, in_string, at = "", [(0, "")], False, 0
    while at < len(text):
        letter = text[at]
        if in_string:
            at += letter == "\\"
            in_string = letter != '"'
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            open_ones += "}" if letter == "{" else "]"
            whole.append((at + 1, open_ones))
        elif letter in "}]":
            if not open_ones.endswith(letter):
                return None
            open_ones = open_ones[:-1]
            whole.append((at + 1, open_ones))
        elif letter == ",":
            whole.append((at, open_ones))
        at += 1
    for end, needed in whole[:-_TRIES:-1]:
        try:
            return json.loads(text[:end] + needed[::-1])
        except (ValueError, RecursionError):
            continue
    return None


_START = re.compile(r"^[^\S\n]*(?=[\[{]\s*(?:[\[{\"\]}\d-]|$))", re.MULTILINE)
_MEMBER = re.compile(r"\s*\"[\w .-]{1,80}\"\s*:\s*[\[{]")
_TRIES = 4


def walk(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every object of a document, outer ones first, with the names that lead to it."""
    if isinstance(value, dict):
        yield above, value
        for name, inner in value.items():
            yield from walk(inner, (*above, str(name)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from walk(inner, (*above, str(number)))
