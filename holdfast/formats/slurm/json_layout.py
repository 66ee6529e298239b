"""Slurm's JSON in any of its layouts: a number may be 5, or {"set": true, "infinite": false, "number": 5}."""

import json
from collections.abc import Iterator, Mapping

Entry = Mapping[str, object]


def document(text: str | bytes) -> Entry | None:
    """The document; None if there is none: a command without --json prints an error message instead."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def entries(holder: Entry, name: str) -> Iterator[Entry]:
    found = holder.get(name)
    for entry in found if isinstance(found, list) else ():
        if isinstance(entry, dict):
            yield entry


def inner(entry: Entry, name: str) -> Entry:
    found = entry.get(name)
    return found if isinstance(found, dict) else {}


def text(entry: Entry, name: str) -> str:
    found = entry.get(name)
    return found if isinstance(found, str) else ""


def words(entry: Entry, name: str) -> list[str]:
    """A list of words in any notation: ["a", "b"], "a,b" or "a"."""
    found = entry.get(name)
    if isinstance(found, list):
        return [word for word in found if isinstance(word, str)]
    return [word for word in found.split(",") if word] if isinstance(found, str) else []


def number(entry: Entry, name: str) -> int | None:
    found = entry.get(name)
    if isinstance(found, dict):
        found = found.get("number") if found.get("set") is not False and not found.get("infinite") else None
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) >= 1 << 63:
        return None
    return found


def time(entry: Entry, name: str) -> float | None:
    """A time in seconds since the epoch; 0 means never."""
    seconds = number(entry, name)
    return float(seconds) if seconds is not None and seconds > 0 else None
