"""The end of a log that no other reader knows: a traceback without its last line, or the last error that is printed."""

import re
from collections.abc import Sequence

from holdfast.catalog import failed_calls, job_errors
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.message import is_code, of_exception
from holdfast.formats.job.python_exceptions import find_by_place, where
from holdfast.formats.kernel.line import printable
from holdfast.model.evidence import Evidence
from holdfast.model.signal import Event, Value

MOST_LINES = 40
_LAST_WORDS = 2  # lines at the very end that may say it without the word error
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'\s*File "[^"]{1,500}", line \d{1,9}')
_ERROR = re.compile(
    r"(?:[\w./\\\[\]@()-]{1,80}:? ){0,4}?"
    r"(?:FATAL|[Ff]atal(?: error)?|ERROR|CRITICAL|[Ee]rror|[Pp]anic|Failure|FAILED|terminate)"
    r"(?: [#\[(]?[\w-]{1,20}[\])]?)?\s*(?:[:!]|called\b)"
)
_FAILED = re.compile(
    r"\b(?:[Ff]ail(?:ed|ure)|[Uu]nable to|[Cc]annot|[Cc]ould(?:n.t| not)|[Cc]an.t|[Dd]enied|not found|[Nn]o such"
    r"|[Ii]nvalid|[Rr]efused|[Uu]nsupported|not supported|[Aa]bort(?:ed|ing)|[Cc]rashed|timed out|[Kk]illed"
    r"|does not exist|[Mm]ismatch|exceeded|[Uu]nreachable|[Ff]atal|[Ee]rror)\b"
)
_NO_ERROR = re.compile(
    r"\b(?:no|without|0) errors?\b|errors?\s*[:=]\s*(?:0|none|null|\[\])\b|warn(?:ing)?\b|ignor|retry"
    r"|fall(?:ing)? ?back|skipp|harmless|deprecat|\bwill happen|\botherwise\b|\bmay\b(?! not)|\bmight\b|error[ _]rate"
    r"|squared error|\b(?:mean|abs|relative|test|eval|val)[ _]error\b",
    re.IGNORECASE,
)
_PROSE = re.compile(r"\s*(?:#|//|>|\*|-\s|\"|'|\{|<|\d+\.\s|https?://|\|)")


def look(text: bytes, last_line: int) -> Evidence | None:
    """`text`: the end of the log; `last_line`: the number of its last line."""
    raw = text.rstrip(b"\n").split(b"\n")
    lines = [decode(one[-2000:], last_line - len(raw) + 1 + place) for place, one in enumerate(raw)][-MOST_LINES:]
    spoken = [one for one in lines if one.text.strip()]
    return _cut_traceback(spoken) or _unnamed_class(spoken) or _last_error(spoken)


def _unnamed_class(lines: Sequence[JobLine]) -> Evidence | None:
    """A traceback that ends with an exception whose class does not call itself an error."""
    found = find_by_place(lines)
    return of_exception(found[1], found[0], job_errors.of_exception(found[1].text)) if found else None


def _cut_traceback(lines: Sequence[JobLine]) -> Evidence | None:
    """Frames at the very end: whoever copied the log left out what was raised."""
    ends_inside = any(_FRAME.match(one.text) or one.text.startswith(_TRACEBACK) for one in lines[-3:])
    if not ends_inside or not lines[-1].text.startswith((" ", "\t", _TRACEBACK)):
        return None
    began = next(one for one in lines if _FRAME.match(one.text) or one.text.startswith(_TRACEBACK))
    place = where(lines)
    before = [one for one in lines if one.number < began.number]
    told = _last_error(before)
    detail: dict[str, Value] = {"where": printable(place)} if place else {}
    return _evidence(began._replace(text=told.event.text if told else began.text), "traceback", "job.exception", detail)


def _last_error(lines: Sequence[JobLine]) -> Evidence | None:
    found = [one for one in lines if _is_error(one)]
    if not found:
        found = [one for one in lines[-_LAST_WORDS:] if _may_be_error(one)]
    if not found:
        return None
    first = found[0]
    for one in reversed(found):  # the first of the last ones that stand together
        if first.number and one.number < found[-1].number - _LAST_WORDS * len(found):
            break
        first = one
    return _evidence(first, "error", failed_calls.cause_of_error(first.text), {})


def _is_error(line: JobLine) -> bool:
    if line.level in ("I", "W") or not _may_be_said(line):
        return False
    if line.nccl:  # which goes on after many of its warnings
        return False
    logged = line.level == "E" and bool(line.at or line.place or _FAILED.search(line.text))
    return logged or bool(_ERROR.match(line.text))


def _may_be_error(line: JobLine) -> bool:
    return line.level not in ("I", "W") and _may_be_said(line) and bool(_FAILED.search(line.text))


def _may_be_said(line: JobLine) -> bool:
    text = line.text
    return not (is_code(text) or _PROSE.match(text) or _NO_ERROR.search(text) or failed_calls.is_harmless(text))


def _evidence(line: JobLine, code: str, cause: str, detail: dict[str, Value]) -> Evidence:
    event = Event(
        kind="tail", at=line.at, text=printable(line.text.strip()[:400]), code=code, line=line.number,
        severity="warning", detail=detail,
    )  # fmt: skip
    return Evidence(event=event, host=line.host, rank=line.rank, role="hint", cause=cause)
