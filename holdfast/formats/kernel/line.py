"""One line of a kernel log from any writer: prefix and time parsed, message remaining."""

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from holdfast.formats.lines import journal
from holdfast.model.signal import Event, Value

MAX_LINE_BYTES = 64 * 1024
MAX_MESSAGE_CHARS = 4 * 1024  # the kernel's own limit is 1 KiB; no pattern reads more than this
MAX_TEXT_CHARS = 300
_MAX_PREFIXES = 6  # a syslog prefix before a dmesg prefix before a caller id occurs; more is rare

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11,
    "Dec": 12,
}  # fmt: skip
_MONTH = f"({'|'.join(_MONTHS)})"
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?"
_LEAP_YEAR = 1972  # assumed year of a syslog stamp, which has none; only differences are used

DAEMONS = frozenset({"nv-fabricmanager", "nvidia-fabricmanager", "systemd-networkd"})
"""Programs whose lines count as the kernel's: only root can start them under these names."""
_KERNEL_TAGS = frozenset({"kernel", "klogd"})
_KERNEL_FACILITY = 0

_KMSG = re.compile(r"(\d{1,6}),(\d{1,19}),(\d{1,19}),[^;]*;")
_SEQUENCE = re.compile(rb"\d{1,6},(\d{1,19}),\d{1,19},")
_BOOT = re.compile(r"\[\s*(\d{1,12}\.\d{1,9})(?: <[\s\d.]{1,24}>)?\] ?")
_BOOT_TAG = re.compile(r"\S{1,255} kernel: ")  # journalctl -o short-monotonic prints the host after the time
_CALLER = re.compile(r"\[\s*[TC]\d+\] ?")
_CTIME = re.compile(rf"\[(?:\w{{2,4}}\.?) {_MONTH} +(\d{{1,2}}) {_CLOCK} (\d{{4}})\] ?")
_FABRIC_MANAGER = re.compile(rf"\[{_MONTH} +(\d{{1,2}}) (\d{{4}}) {_CLOCK}\] ?")
_NO_TIME = re.compile(
    rf"\[(?:\.\.\.|boot| *\+\d+\.\d+|{_MONTH} ?\d{{1,2}} \d\d:\d\d)\] ?(?:\S{{1,255}} kernel: )?"
)  # elided, or printed as a difference
_LEVEL = re.compile(r"<(\d{1,6})>1? ?")
_DECODED = re.compile(
    r"([a-z0-9]+) *: ?(?:emerg|alert|crit|err|warn(?:ing)?|notice|info|debug) *: "
)  # dmesg -x, talosctl
_SYSLOG = re.compile(rf"{_MONTH} +(\d{{1,2}}) {_CLOCK} (?:\S*[^\s:] )?([^\s:\[]+)(?:\[\d+\])?: ?")
_SYSLOG_OTHER = re.compile(
    rf"[^\W\d_]{{3,5}}\.? +\d{{1,2}} {_CLOCK} \S{{1,255}} (kernel)(?:\[\d+\])?: ?"
)  # month names of other languages
_ISO = re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)(?:\]:? ?| )")
_WEEKDAY = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?=\d{4}-\d\d-\d\d )")  # journalctl -o short-full
_CLOCK_ONLY = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})? +(?=NVRM: )")  # a copy without the date
_TALOS_NODE = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}: (?=kern: )")  # talosctl dmesg of several nodes
_UNIX = re.compile(r"(\d{9,11}\.\d{3,9}) ")  # journalctl -o short-unix
_CONTAINER = re.compile(r"std(?:out|err) [FP] ")  # containerd and cri-o
_TAG = re.compile(
    rf"(?:(?:[A-Z]{{3,5}}|[+-]\d{{2,4}}) )?\S+ (?P<tag>kernel|{'|'.join(sorted(DAEMONS))})(?:\[\d+\])?"
    r"(?::| \S+ \S+ (?:-|\[.*?\])) ?"
)
_UNPRINTABLE = {"\t": " ", "\n": " ", "\r": " "}
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class KernelLine(NamedTuple):
    text: str  # the message without its prefix
    number: int = 0
    at: float = 0.0  # seconds since the epoch; 0.0 if the prefix has none
    since_boot: float | None = None
    order: float | None = None  # seconds on the clock of the prefix: only differences have a meaning
    sequence: int | None = None  # of a raw /dev/kmsg record
    foreign: bool = False  # the prefix names a program as the writer: never an event of the hardware

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
        text = printable(self.text.strip())
        known = {name: printable(value) if isinstance(value, str) else value for name, value in (detail or {}).items()}
        if self.since_boot is not None and not self.at:
            known["since_boot_seconds"] = self.since_boot
        return Event(
            kind=kind, at=self.at, text=text, device=printable(device), code=code, severity=severity, action=action,
            count=count, line=self.number, detail=known,
        )  # fmt: skip


def printable(text: str) -> str:
    """Makes text from the kernel log safe to print. Anybody can write to that log, so it must not control a
    terminal, break a line or fill a page."""
    text = text[:MAX_TEXT_CHARS]
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _UNPRINTABLE.get(char, "\N{REPLACEMENT CHARACTER}") for char in text)


def sequence_of(raw: bytes) -> int | None:
    """The sequence number of a raw /dev/kmsg record; None for any other line."""
    match = _SEQUENCE.match(raw)
    return int(match[1]) if match else None


def decode(raw: bytes, number: int = 0) -> KernelLine:
    """Parses a line and never fails: text without a known prefix is the message."""
    text = raw[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r\n").replace("\0", "")
    if text.startswith("{") and (entry := journal.parse(text)):
        line = KernelLine(entry.message[:MAX_MESSAGE_CHARS], number, entry.at, None, entry.at or None)
        if entry.program and entry.program not in DAEMONS:
            return line._replace(foreign=True)
        if entry.at:
            return line
    else:
        line = KernelLine(text[:MAX_MESSAGE_CHARS], number)
    for _ in range(_MAX_PREFIXES):
        shorter = _strip_one(line)
        if shorter is None:
            break
        line = shorter
        if line.sequence is not None:  # after the head of a raw record there is only the message
            break
    return line


def _strip_one(line: KernelLine) -> KernelLine | None:
    first = line.text[:1]
    if first == "N" and line.text.startswith("NVRM: "):  # the driver's own messages: most of the lines
        return None
    if first == "[":
        return _strip_bracket(line)
    if first.isdigit():
        if match := _CLOCK_ONLY.match(line.text) or _TALOS_NODE.match(line.text):
            return line._replace(text=line.text[match.end() :])
        return _strip_kmsg(line) or _strip_iso(line) or _strip_unix(line)
    if first == "<" and (match := _LEVEL.match(line.text)):
        return line._replace(
            text=line.text[match.end() :], foreign=line.foreign or int(match[1]) >> 3 != _KERNEL_FACILITY
        )
    if match := _DECODED.match(line.text):
        return line._replace(text=line.text[match.end() :], foreign=line.foreign or match[1] != "kern")
    if match := _WEEKDAY.match(line.text) or _CONTAINER.match(line.text):
        return line._replace(text=line.text[match.end() :])
    if match := _SYSLOG.match(line.text):
        month, day, *clock = match.groups()[:5]
        order = _seconds(str(_LEAP_YEAR), month, day, *clock)
        return line._replace(text=line.text[match.end() :], order=order, foreign=_foreign(line, match[6]))
    if match := _SYSLOG_OTHER.match(line.text):
        return line._replace(text=line.text[match.end() :], foreign=_foreign(line, match[4]))
    return None


def _strip_bracket(line: KernelLine) -> KernelLine | None:
    text = line.text
    if match := _BOOT.match(text):
        seconds = float(match[1])
        known = line.order if line.at else seconds
        tag = _BOOT_TAG.match(text, match.end())
        return line._replace(text=text[(tag or match).end() :], since_boot=seconds, order=known)
    if match := _CALLER.match(text) or _NO_TIME.match(text):
        return line._replace(text=text[match.end() :])
    if match := _CTIME.match(text):
        month, day, hour, minute, second, year = match.groups()
    elif match := _FABRIC_MANAGER.match(text):
        month, day, year, hour, minute, second = match.groups()
    else:
        return _strip_iso(line)
    at = _seconds(year, month, day, hour, minute, second)
    tag = _BOOT_TAG.match(text, match.end())
    return line._replace(text=text[(tag or match).end() :], at=at, order=at)


def _strip_kmsg(line: KernelLine) -> KernelLine | None:
    if not (match := _KMSG.match(line.text)):
        return None
    seconds = int(match[3]) / 1e6
    message = line.text[match.end() :]
    if "\\x" in message:  # the kernel escapes characters that are not printable, including line ends within a record
        message = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), message)
    foreign = line.foreign or int(match[1]) >> 3 != _KERNEL_FACILITY
    return line._replace(text=message, since_boot=seconds, order=seconds, sequence=int(match[2]), foreign=foreign)


def _strip_iso(line: KernelLine) -> KernelLine | None:
    if not (match := _ISO.match(line.text)):
        return None
    return _dated(line, match, _iso_seconds(match[1]))


def _strip_unix(line: KernelLine) -> KernelLine | None:
    match = _UNIX.match(line.text)
    return _dated(line, match, float(match[1])) if match else None


def _dated(line: KernelLine, stamp: re.Match[str], at: float) -> KernelLine:
    tag = _TAG.match(line.text, stamp.end())
    foreign = _foreign(line, tag["tag"]) if tag else line.foreign
    return line._replace(text=line.text[(tag or stamp).end() :], at=at, order=at, foreign=foreign)


def _foreign(line: KernelLine, tag: str) -> bool:
    """Whether another program wrote the line. Daemons have their own facility; the kernel's name with another
    facility is forged."""
    return tag not in DAEMONS and (line.foreign or tag not in _KERNEL_TAGS)


@lru_cache(maxsize=64)
def _seconds(year: str, month: str, day: str, hour: str, minute: str, second: str) -> float:
    """Local stamps have no zone; they are read as UTC, which most servers use."""
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
