"""Decodes one line of a job's log: removes the prefixes of loggers and launchers and keeps their information."""

import calendar
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from holdfast.catalog import translations
from holdfast.formats.kernel.line import printable
from holdfast.formats.lines import json_envelope
from holdfast.model.signal import usable_time

MAX_LINE_CHARS = 4096
YEARLESS = 1972  # placeholder for a time stamp without a year; the diagnosis replaces it
_MAX_PREFIXES = 10
_NEAR_BYTES = 2000
_NEAR_STAMPS = 3

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b")
_TICKS = re.compile(
    r"\s{0,8}`{1,3}(?P<inside>[^`]{8,}?)`{0,3}\s*$|(?P<open>[^`]{8,})`{1,3}\s*$"
)  # a line in Markdown code marks
_BARE_ANSI = re.compile(r"\[\d{1,3}m")  # an ANSI code whose escape character was lost in a copy
# a Markdown link; web pages make links of file names and addresses
_LINK = re.compile(r"\[([^\]]{1,200})\]\(https?://[^)]{1,300}\)")
# a logfmt line of another program inside this line
_LOGFMT = re.compile(r"(?<=: )time=\"[^\"]{1,40}\" level=\w{1,8} msg=\"")
_STRUCTURED = re.compile(
    r"\b(?:(?:err|error|msg|Error)(?:=|: )|process caused:? )\""
)  # a quoted field, which may contain escaped quotes
_ESCAPED = re.compile(r"(?<!\\)\\+\"")
_BAR = re.compile(
    r"(?!Loading checkpoint)[^\n]{0,300}?(?:it/s|s/it)[^\]]{0,200}\](?=\[rank|[A-Z\[])"
)  # a progress bar with another message right behind it
_ISO = r"(?P<iso>\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d\b))?"
_GLOG = r"(?P<level>[IWEFVD])(?:20\d\d(?=\d{4} ))?(?P<month>\d{1,2})(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{1,9})"
_CLOCK_ONLY = r"(?P<us>\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)"
_DAY_ONLY = r"(?P<day_of_year>\d\d[-/]\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)"
_SYSLOG = r"(?:[A-Z][a-z]{2}|\d{1,2}\u6708) {1,2}\d{1,2} \d\d:\d\d:\d\d"  # time stamp of syslog
_LEVELS_SPELLED = "INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG|TRACE|FATAL|SUCCESS"
_LEVEL = rf"(?P<severity>{_LEVELS_SPELLED})"
STAMP = re.compile(rf"(?<![\d:]){_ISO}|(?<!\w){_GLOG}|(?<!\d){_CLOCK_ONLY}")

_LEVELS = {
    "I": "I",
    "D": "I",
    "V": "I",
    "T": "I",
    "S": "I",
    "L": "I",
    "A": "E",
    "W": "W",
    "E": "E",
    "C": "E",
    "F": "E",
    "i": "I",
    "d": "I",
    "w": "W",
    "e": "E",
    "f": "E",
}

_MONTHS = {name: f"{number:02}" for number, name in enumerate(calendar.month_abbr) if name}

_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\s*\[rank ?(?P<rank>\d{1,6})\]:? ?",
        r"\s*\[\d{1,9}\] (?=\[)",
        r"\[(?P<rank>\d{1,6})\] (?=[\w.-]+:\d+:\d+ \[)",
        r"\s*>(?: +(?=\S)|(?=\[ ?\s*\d))",
        r"\*\*[^*\n]{1,40}\*\*:? ?(?=\S)",
        r"\[(?:default|trainer|worker|node)_?(?P<local>\d{1,4})\]:? ?",
        r"\s{0,12}\[(?:\d+),(?P<rank>\d{1,6})\](?:<std(?:out|err)>)?: ?",
        r"\((?P<actor>[\w:.-]+)(?: rank=(?P<rank>\d{1,6}))? pid=\d+(?:, ip=(?P<host>[\w.:-]+))?[^)]*\) ?",
        r"\((?P<actor>raylet|autoscaler|gcs_server)(?:,? ip=(?P<host>[\w.:-]{1,255}))?\) ",
        r"\[pod/(?P<host>[\w.-]+)/[\w.-]+\] ?",
        r"(?:trainer|worker|master)/(?P<task>\d{1,6}) ",
        r"(?P<host>[a-z0-9][a-z0-9.-]*-\d{1,6}) (?:pytorch|tensorflow|trainer|training|worker|main|mpi|app) ",
        rf"\[{_ISO} (?:TP|DP|PP|EP)(?P<local>\d{{1,4}})[^\]]{{0,20}}\] ?",
        rf"\[[A-Z]+\|[\w./]+:\d+\] {_ISO} >> ?",
        rf"\[{_ISO} (?P<level>[DIWECF]) \d{{1,8}} \d{{1,8}}\] ?(?:\(\w[\w.]{{0,40}}\) )?",
        rf"\[NeMo (?P<level>[DIWE]) {_ISO} (?P<place>[\w.<>-]+:\d+)\] ?",
        rf"[\[(]?{_ISO}[\])]?(?:[:,|]| -)? ?(?: {{0,3}}(?=(?:{_LEVELS_SPELLED}) ))?",  # Rust pads the level
        rf"\[?{_GLOG}(?: +\d+)? (?P<place>[\w./<>-]+:\d+)\] ?",
        rf"[\[(]?{_CLOCK_ONLY}[\])]?(?:[:,|]| -)? ?",
        r"(?P<named>\d{4}-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,9})? +(?:\d{1,8}:\d{1,8} +)?",
        rf"{_DAY_ONLY} (?=\[[\w./]+:\d+\]|- )(?:- )?",
        r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?=(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) )",
        r" {0,3}(?P<host>[\w.-]+):(?P<pid>\d{1,8}):\d{1,8} \[(?P<local>-?\d{1,4})\] (?:(?P<place>[\w./]+:\d+) )?"
        r"(?P<nccl>NCCL (?P<severity>WARN|INFO|ERROR|TRACE) )",
        r"\[(?P<host>[\w.-]+)\]\[(?P<pid>\d{1,8}):\d{1,8}\]\[(?P<local>-?\d{1,4})\]\[(?P<place>[\w./]+:\d+)\] "
        r"(?P<nccl>NCCL (?P<severity>WARN|INFO|ERROR|TRACE) )",
        r" {0,3}(?P<host>[\w.-]+):(?P<pid>\d{1,8}):\d{1,8} \[(?P<local>\d{1,4})\] "
        r"(?:(?P<place>[\w./]+\.(?:cu|h|cc):\d+) )?(?P<nccl>(?P<severity>WARN|INFO) )",  # before its lines had its name
        # NCCL's plugin in a test
        r"(?P<nccl>(?P<severity>WARN|INFO|TRACE): Function: \w{1,80} Line: \d{1,6}: )(?=NET/)",
        r"(?P<place>[\w./]+:\d+) (?P<nccl>NCCL (?P<severity>WARN|INFO) )",
        r"(?:(?P<host>[\w.-]+):(?P<pid>\d{1,8}):\d{1,8} )?\[(?P<local>\d{1,4})\] (?:(?P<place>[\w./]+:\d+) )?"
        r"(?P<nccl>(?:CCOM|MSCCLPP|[A-Z]{1,4}CCL) (?P<severity>WARN|INFO|ERROR) )",  # libraries made from NCCL
        r" {0,3}(?P<nccl>NCCL (?P<severity>WARN|INFO) )",
        r"\*{3} (?=[A-Z]\w*(?:Error|Exception): )",
        rf"\[?{_LEVEL}\]?:? ?(?:\||- )? {{0,8}}(?=\S)",
        # libfabric providers log errors as warnings
        r"libfabric:\d+:\d+::core:[\w.-]+:\w+\(\):\d+<(?P<level>[dwief])\w{1,8}> ?",
        r"<(?P<level>[dwief])(?:ebug|arn(?:ing)?|nfo|rror|atal)> ?",
        rf"[\w.-]{{1,80}} (?:-|\|) {_LEVEL} (?:-|\|) ?",
        rf"\[(?P<level>[DIWEC]) (?:{_ISO}|\d\d:\d\d:\d\d\.\d{{3}} \w{{1,40}})\] ?",
        r"\d{1,3}(?:\.\d{2,3}){2,3} (?P<level>[IWEFD]) (?=\S)",
        r"(?P<level>[IWEF]) (?: {0,8}\d{1,8} )?(?P<place>[\w./<>-]+:\d+)\] ?",
        r"\[[\w.:/ -]{1,60}\]:? (?=(?:[A-Za-z_]\w*\.)*[A-Z]\w{1,60}(?:Error|Exception): )",
        r'time="[^"]{1,40}" level=(?P<level>[dwief])\w{1,8} msg="',
        r"std(?:out|err) \| ",
        r"(?:std(?:out|err)|stderr|E|F): ",
        r"std(?:out|err) [FP] ",
        r" {0,4}(?P<task>\d{1,5}): (?=\s*\S)",
        r"(?P<host>(?:node|worker|host|gpu|compute|vm|ip|srv|cn|dgx|hgx|nid|n|r|h|a|c|g)-?[\w.-]*\d[\w.-]*"
        r"|\d{1,3}(?:\.\d{1,3}){3}): (?=[\[\s\w])",
        r"\[(?P<place>[\w./<>-]+\.(?:py|cpp|cc|cu):\d+(?::\w+)?)\] ?",
        r"(?:torch\.distributed[\w.]*|root|lightning[\w.]*|__main__):(?=\S)",
        r"\s*\|\s+",
        r"\[(?P<level>[IWEF]) [\w./]+:\d+\] ?",
        rf"{_SYSLOG} (?P<host>[\w.-]{{1,80}}) (?=(?!kernel:)[\w./@-]{{1,60}}(?:\[\d{{1,8}}\])?: )",
        r"[\w./@-]{1,60}(?:\[\d{1,8}\])?: (?=[IWEF]\d{4} \d\d:|time=\"|level=)",
        r"\[\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]:? (?=[IWEF]\d{4} )",
        r"\[task (?=\d{4}-)",
        r"[^\[\n]{1,200} (?=\[[IWEF] [\w./]{1,80}\.(?:cpp|cc|cu|h):\d{1,6}\])",  # output without a line end before it
        r"(?P<severity>ERROR|WARNING|LOG|ASSERTION_FAILED) \([\w./-]{1,60}(?:\[[^\]\n]{1,40}\])?:[^\s:]{0,60}:"
        r"(?P<place>[\w./-]{1,80}:\d+)\) ?",
    )
)
_PYTHON_WARNING = re.compile(r"\s{0,8}\S{1,300}\.py:\d{1,6}: [A-Z]\w*Warning: |[Ww]arning: ")
_RAISED_BELOW = re.compile(  # TensorFlow logs a status as a warning and then raises it as an exception
    r"OP_REQUIRES failed at \S{1,200} ?: (?!Cancelled|CANCELLED|Aborted|ABORTED|Out of range|OUT_OF_RANGE)"
)
_SAID = re.compile(r'"(?P<text>(?:[^"\\]|\\.){3,3000})"?(?P<rest>.*)$')  # klog and Triton quote the message
_RANK_INSIDE = re.compile(
    r"\[(?:PG [^\]]*)?[Rr]ank:? ?(\d{1,6})\]|\(rank (\d{1,6})\)|\bRankID:(\d{1,6})|\bglobal_rank:? ?(\d{1,6})"
    r"|\bRank (\d{1,6}): found"
)


class JobLine(NamedTuple):
    text: str  # the message without its prefixes
    number: int = 0
    at: float = 0.0  # seconds since the epoch; in YEARLESS if the stamp has no year; 0.0 without a stamp
    rank: int | None = None
    local_rank: int | None = None
    host: str = ""
    stream: str = ""  # the same for all lines of one process
    place: str = ""  # source file and line that the logger prints, or ''
    nccl: bool = False  # the line has NCCL's prefix
    level: str = ""  # I, W or E from the logger, or ''. NCCL logs its errors as warnings


def decode(raw: bytes, number: int = 0) -> JobLine:
    """Decodes any bytes. Text that is not a known prefix belongs to the message."""
    return _decoded(raw)._replace(number=number)


@lru_cache(maxsize=512)  # each exception decodes the lines above it, so nearby exceptions decode the same lines
def _decoded(raw: bytes) -> JobLine:
    line = _wrapped(raw) or JobLine(_readable(raw[: MAX_LINE_CHARS * 2].decode("utf-8", "replace")))
    for _ in range(_MAX_PREFIXES):
        shorter = _strip_one(line)
        if shorter is None:
            break
        line = shorter
    if line.place and line.text.startswith('"') and (said := _SAID.match(line.text)):
        line = line._replace(text=f"{said['text']}{said['rest']}")
    if line.level == "W" and _RAISED_BELOW.match(line.text):
        line = line._replace(level="E")
    if not line.level and "arning: " in line.text and _PYTHON_WARNING.match(line.text):
        line = line._replace(level="W")
    if line.rank is None and "ank" in line.text and (match := _RANK_INSIDE.search(line.text)):
        line = line._replace(rank=int(next(group for group in match.groups() if group)))
    return line


def _wrapped(raw: bytes) -> JobLine | None:
    inside = json_envelope.opened(raw) if raw.startswith(b"{") else None
    if inside is None:
        return None
    at = last_stamp(inside.moment.encode()) if inside.moment else 0.0
    level = _LEVELS.get(inside.level[:1].upper(), "")
    return JobLine(_readable(inside.text), 0, at, host=printable(inside.host), level=level)


def _readable(text: str) -> str:
    return translations.english(_cleaned(text.replace("\0", "")).rstrip()[:MAX_LINE_CHARS])


def is_binary(raw: bytes, text: str) -> bool:
    """Whether the bytes are from a compiled program: words between bytes that are not text."""
    return b"\0" in raw or text.count("\N{REPLACEMENT CHARACTER}") * 20 > len(text)


def _cleaned(text: str) -> str:
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "m" in text and text.lstrip().startswith("["):
        text = _BARE_ANSI.sub("", text)
    if "message: '" in text:  # YAML: a quote within quotes is doubled
        text = text.replace("''", "'")
    if ' msg="' in text:
        text = _LOGFMT.sub("", text)
    if '\\"' in text and _STRUCTURED.search(text):
        text = _ESCAPED.sub("", text)
    if "](http" in text:
        text = _LINK.sub(r"\1", text)
    if text.rstrip().endswith("`") or text.lstrip().startswith("`"):
        ticks = _TICKS.match(text)
        text = ticks["inside"] or ticks["open"] if ticks else text
    if "/it" in text or "it/s" in text:
        bar = _BAR.match(text)
        text = text[bar.end() :] if bar else text
    return text


def _strip_one(line: JobLine) -> JobLine | None:
    for prefix in _PREFIXES:
        match = prefix.match(line.text)
        if match and match.end() > 0:
            return _with_prefix(line, match.groupdict(), line.text[: match.end()])._replace(
                text=line.text[match.end() :]
            )
    return None


def _with_prefix(line: JobLine, found: dict[str, str | None], prefix: str) -> JobLine:
    stamp = seconds(found)
    rank = found.get("rank") or found.get("task")
    local = found.get("local")
    host = printable(found.get("host") or "")
    return line._replace(
        at=line.at or stamp,
        rank=line.rank if rank is None else int(rank),
        local_rank=line.local_rank if local is None else int(local),
        host=line.host or host,
        stream=line.stream + (f"{host}:{found['pid']}" if found.get("pid") else _speaker(found, prefix)),
        place=found.get("place") or line.place,
        nccl=line.nccl or bool(found.get("nccl")),
        level=_level(found) or line.level,
    )


def _level(found: dict[str, str | None]) -> str:
    severity = found.get("severity") or found.get("level") or ""
    if found.get("nccl"):
        return "I" if severity in ("INFO", "TRACE") else "E"
    return _LEVELS.get(severity[:1], "")


def _speaker(found: dict[str, str | None], prefix: str) -> str:
    """The prefix if it identifies one process."""
    return prefix.strip() if any(found.get(name) for name in ("rank", "task", "local", "actor", "host")) else ""


def last_stamp(text: bytes) -> float:
    """The last time stamp in a text, or 0.0. A line without a stamp was written after it."""
    found = _stamps(text)
    return seconds(found[-1].groupdict()) if found else 0.0


def near_stamp(above: bytes) -> float:
    """The last time stamp near the end, if the log stamps its lines. A single stamp far above does not date a line."""
    found = _stamps(above[-_NEAR_BYTES:])
    return seconds(found[-1].groupdict()) if len(found) >= _NEAR_STAMPS else 0.0


def _stamps(text: bytes) -> list[re.Match[str]]:
    return [*STAMP.finditer(text.decode("utf-8", "replace"))]


def seconds(found: dict[str, str | None]) -> float:
    return usable_time(_seconds(found))


def _seconds(found: dict[str, str | None]) -> float:
    if stamp := found.get("iso"):
        return _iso_seconds(stamp, found.get("zone") or "")
    if clock := found.get("clock"):
        return _glog_seconds(found["month"] or "", found["day"] or "", clock)
    if stamp := found.get("us"):
        month, day, year, clock = stamp[:2], stamp[3:5], stamp[6:10], stamp[11:]
        return _iso_seconds(f"{year}-{month}-{day} {clock}", "")
    if stamp := found.get("named"):
        year, month, rest = stamp.split("-", 2)
        return _iso_seconds(f"{year}-{_MONTHS.get(month, '')}-{rest}", "")
    if stamp := found.get("day_of_year"):
        return _iso_seconds(f"{YEARLESS}-{stamp}", "")
    return 0.0


@lru_cache(maxsize=256)
def _iso_seconds(stamp: str, zone: str) -> float:
    plain = stamp.replace("/", "-").replace("_", " ").replace(",", ".")
    offset = {"Z": "+00:00", "UTC": "+00:00"}.get(zone, zone)
    try:
        moment = datetime.fromisoformat(plain + offset)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@lru_cache(maxsize=256)
def _glog_seconds(month: str, day: str, clock: str) -> float:
    hour, minute, rest = clock.split(":")
    try:
        whole = calendar.timegm((YEARLESS, int(month), int(day), int(hour), int(minute), 0))
    except (ValueError, OverflowError):
        return 0.0
    return whole + float(rest)
