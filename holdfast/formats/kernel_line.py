"""One line of a kernel log, whatever wrote it: the prefix taken off, its time understood, the message left."""

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from holdfast.formats import journal
from holdfast.model.signal import Event, Value

MAX_LINE_BYTES = 64 * 1024
MAX_MESSAGE_CHARS = 4 * 1024  # the kernel's own limit is 1 KiB; no pattern is run over more than this
MAX_TEXT_CHARS = 1000
_MAX_PREFIXES = 5  # syslog in front of dmesg in front of a caller id: real, and no deeper

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11,
    "Dec": 12,
}  # fmt: skip
_MONTH = f"({'|'.join(_MONTHS)})"
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?"
_LEAP_YEAR = 1972  # stands in for the year a syslog stamp does not tell; only differences of it are used

_KMSG = re.compile(r"(\d{1,6}),(\d{1,19}),(\d{1,19}),[^;]*;")
_SEQUENCE = re.compile(rb"\d{1,6},(\d{1,19}),\d{1,19},")
_BOOT = re.compile(r"\[\s*(\d{1,12}\.\d{1,9})\] ?")
_CALLER = re.compile(r"\[\s*[TC]\d+\] ?")
_CTIME = re.compile(rf"\[(?:\w{{3}}) {_MONTH} +(\d{{1,2}}) {_CLOCK} (\d{{4}})\] ?")
_FABRIC_MANAGER = re.compile(rf"\[{_MONTH} +(\d{{1,2}}) (\d{{4}}) {_CLOCK}\] ?")
_NO_TIME = re.compile(
    rf"\[(?:\.\.\.| *\+\d+\.\d+|{_MONTH} ?\d{{1,2}} \d\d:\d\d)\] ?"
)  # elided, or told as a difference
_LEVEL = re.compile(r"<\d+>1? ?")
_DECODED = re.compile(r"[a-z0-9]+ *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: ")
_SYSLOG = re.compile(rf"{_MONTH} +(\d{{1,2}}) {_CLOCK} (?:\S+ )?([^\s:\[]+)(?:\[\d+\])?: ?")
_ISO = re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\]? ")
_ISO_TAG = re.compile(r"\S+ (?:kernel|nv-fabricmanager|systemd-networkd)(?:\[\d+\])?(?::| \S+ \S+ (?:-|\[.*?\])) ?")
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class Line(NamedTuple):
    text: str  # the message without its prefix
    number: int = 0
    at: float = 0.0  # seconds since the epoch, 0.0 where the prefix does not tell
    since_boot: float | None = None
    order: float | None = None  # seconds on whatever clock the prefix has: only differences mean anything
    sequence: int | None = None  # of a raw /dev/kmsg record

    def event(
        self,
        kind: str,
        *,
        code: int | str | None = None,
        device: str = "",
        severity: str = "",
        action: str = "",
        count: int = 1,
        detail: Mapping[str, Value] | None = None,
    ) -> Event:
        text = self.text.strip()[:MAX_TEXT_CHARS]
        known = dict(detail or {})
        if self.since_boot is not None and not self.at:
            known["since_boot_seconds"] = self.since_boot
        return Event(
            kind=kind, at=self.at, text=text, device=device, code=code, severity=severity, action=action,
            count=count, line=self.number, detail=known,
        )  # fmt: skip


def sequence_of(raw: bytes) -> int | None:
    """The sequence number of a raw /dev/kmsg record, None for any other line."""
    match = _SEQUENCE.match(raw)
    return int(match[1]) if match else None


def decode(raw: bytes, number: int = 0) -> Line:
    """Never fails: what is no known prefix is message."""
    text = raw[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r\n").replace("\0", "")
    if text.startswith("{") and (entry := journal.parse(text)):
        return Line(entry.message[:MAX_MESSAGE_CHARS], number, entry.at, None, entry.at or None)
    line = Line(text[:MAX_MESSAGE_CHARS], number)
    for _ in range(_MAX_PREFIXES):
        shorter = _strip_one(line)
        if shorter is None:
            break
        line = shorter
    return line


def _strip_one(line: Line) -> Line | None:
    first = line.text[:1]
    if first == "[":
        return _strip_bracket(line)
    if first.isdigit():
        return _strip_kmsg(line) or _strip_iso(line)
    if first == "<" and (match := _LEVEL.match(line.text)):
        return line._replace(text=line.text[match.end() :])
    if match := _DECODED.match(line.text):
        return line._replace(text=line.text[match.end() :])
    if match := _SYSLOG.match(line.text):
        month, day, *clock = match.groups()[:5]
        order = _seconds(str(_LEAP_YEAR), month, day, *clock)
        return line._replace(text=line.text[match.end() :], order=order)
    return None


def _strip_bracket(line: Line) -> Line | None:
    text = line.text
    if match := _BOOT.match(text):
        seconds = float(match[1])
        known = line.order if line.at else seconds
        return line._replace(text=text[match.end() :], since_boot=seconds, order=known)
    if match := _CALLER.match(text) or _NO_TIME.match(text):
        return line._replace(text=text[match.end() :])
    if match := _CTIME.match(text):
        month, day, hour, minute, second, year = match.groups()
    elif match := _FABRIC_MANAGER.match(text):
        month, day, year, hour, minute, second = match.groups()
    else:
        return _strip_iso(line)
    at = _seconds(year, month, day, hour, minute, second)
    return line._replace(text=text[match.end() :], at=at, order=at)


def _strip_kmsg(line: Line) -> Line | None:
    if not (match := _KMSG.match(line.text)):
        return None
    seconds = int(match[3]) / 1e6
    message = line.text[match.end() :]
    if "\\x" in message:  # the kernel escapes what is not printable, line ends within a record among them
        message = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), message)
    return line._replace(text=message, since_boot=seconds, order=seconds, sequence=int(match[2]))


def _strip_iso(line: Line) -> Line | None:
    if not (match := _ISO.match(line.text)):
        return None
    at = _iso_seconds(match[1])
    rest = line.text[match.end() :]
    if tag := _ISO_TAG.match(rest):
        rest = rest[tag.end() :]
    return line._replace(text=rest, at=at, order=at)


@lru_cache(maxsize=64)
def _seconds(year: str, month: str, day: str, hour: str, minute: str, second: str) -> float:
    """Local stamps carry no zone; they are read as UTC, which is how servers are run."""
    try:
        return float(calendar.timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second))))
    except (ValueError, OverflowError):
        return 0.0


@lru_cache(maxsize=64)
def _iso_seconds(stamp: str) -> float:
    try:
        moment = datetime.fromisoformat(stamp.replace(",", "."))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
