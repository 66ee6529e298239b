"""Lines that are JSON objects: journalctl -o json and Docker's log files.

In a journal, MESSAGE is a string, or an array of bytes if it is not clean text.
"""

import json
from typing import Any, NamedTuple


class JournalEntry(NamedTuple):
    message: str
    at: float  # seconds since the epoch; 0.0 without a time
    program: str = ""  # the writer; '' for the kernel and if unknown


def parse(text: str) -> JournalEntry | None:
    """The entry in a line; None if the line is not one."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    if "MESSAGE" in fields:
        stamp = fields.get("_SOURCE_REALTIME_TIMESTAMP") or fields.get("__REALTIME_TIMESTAMP")
        return JournalEntry(_message(fields["MESSAGE"]), _seconds(stamp), _program(fields))
    if "log" in fields and "stream" in fields:  # Docker: parsed like a line with its time at the front
        return JournalEntry(f"{_message(fields.get('time'))} {_message(fields['log'])}".strip(), 0.0)
    return None


def _program(fields: dict[str, Any]) -> str:
    """The program that wrote an entry.

    A line that a program wrote into the kernel's log keeps the transport of the kernel, but not its facility. Any user
    can write under the name of a daemon; the journal itself adds the real writer.
    """
    if str(fields.get("_UID", "0")) != "0":
        return "a user"
    from_kernel = fields.get("_TRANSPORT", "kernel") == "kernel" and str(fields.get("SYSLOG_FACILITY", "0")) == "0"
    return "" if from_kernel else _message(fields.get("SYSLOG_IDENTIFIER")) or "unknown"


def _message(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        return bytes(value).decode("utf-8", "replace")
    if not isinstance(value, str):
        return ""
    # JSON can contain half of a surrogate pair, which cannot be printed
    return value.encode("utf-8", "replace").decode()


def _seconds(microseconds: Any) -> float:
    try:
        return int(microseconds) / 1e6
    except (TypeError, ValueError, OverflowError):
        return 0.0
