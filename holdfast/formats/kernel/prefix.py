"""Prefix of a kernel log line: host, and a time without year."""

import calendar
import re
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.formats.job.line import YEARLESS

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_STAMP = rb"(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.\d+)?"
_PREFIX = re.compile(
    rb"(?:<\d+>\d? ?)?(?:" + _STAMP + rb"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\[\s*\d+\.\d+\]) "
    rb"(?P<host>[\w.-]{1,255}) (?:kernel|nv-fabricmanager|nvidia-fabricmanager|systemd-networkd)\b"
)
_QUOTES = re.compile(rb"(?<!\w)'|'(?!\w)|\"|`+")
_ABOUT = re.compile(rb"\s*(?:#|//|\"\"\"|'|\"|`|raise |print\(|assert )")


class Prefix(NamedTuple):
    host: str = ""
    at: float = 0.0


NO_PREFIX = Prefix()


def prefix_of(raw: bytes) -> Prefix:
    match = _PREFIX.match(raw)
    if match is None:
        return NO_PREFIX
    host = match["host"].decode("ascii")
    if match["month"] is None:
        return Prefix(host)
    clock = [int(match[name]) for name in ("day", "hour", "minute", "second")]
    month = _MONTHS.get(match["month"].decode("ascii"), 0)
    try:
        return Prefix(host, float(calendar.timegm((YEARLESS, month, *clock)))) if month else Prefix(host)
    except (ValueError, OverflowError):
        return Prefix(host)


def is_about(raw: bytes, words: Iterable[bytes]) -> bool:
    """Whether a line is a comment, a quotation or source code about kernel messages. A journal's JSON legitimately
    quotes them."""
    if raw.startswith(b"{"):
        return False
    first = min((place for word in words if (place := raw.find(word)) >= 0), default=0)
    return bool(_ABOUT.match(raw)) or len(_QUOTES.findall(raw, 0, first)) % 2 == 1
