"""journalctl -o json: one object a line. MESSAGE is a string, or an array of bytes when it is not clean text."""

import json
from typing import Any, NamedTuple


class Entry(NamedTuple):
    message: str
    at: float  # seconds since the epoch, 0.0 when the entry does not tell


def parse(text: str) -> Entry | None:
    """The entry in a line, or None when it is not one."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or "MESSAGE" not in fields:
        return None
    stamp = fields.get("_SOURCE_REALTIME_TIMESTAMP") or fields.get("__REALTIME_TIMESTAMP")
    return Entry(_message(fields["MESSAGE"]), _seconds(stamp))


def _message(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _seconds(microseconds: Any) -> float:
    try:
        return int(microseconds) / 1e6
    except (TypeError, ValueError, OverflowError):
        return 0.0
