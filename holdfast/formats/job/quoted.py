"""Finds errors that a person quotes in the sentences of a report without log lines."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.catalog import failed_calls
from holdfast.formats.job import aside
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.message import is_code
from holdfast.formats.job.tail import is_doubtful, of_words
from holdfast.model.evidence import Evidence

MOST_LINES = 60  # a longer text is a log; its quotations are data
_MARKED = re.compile(r"`{1,3}(?P<text>(?![\w.]+`)[^`\n]{8,800})`{1,3}")  # more than one word
_DATA = ("{", "[", "(", "|")  # a record, not a sentence
_RAISED = re.compile(
    r"(?<![\w.`'\"/\\])(?<=.)(?P<text>(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)\w{0,20}"
    r"(?: \(see above for traceback\))?: .{8,800})",
    re.ASCII,
)
_IN_QUOTES = re.compile(  # a whole line between quotes or brackets
    r"\s{0,8}[\[\"](?P<text>(?:[A-Z]\w{2,60}(?:Error|Exception): |An error occurred \()[^\"]{8,800})[\]\"][,.]?\s*$"
)
_HEADING = re.compile(r"#{1,4} {1,4}(?:\[[\w ./-]{1,30}\]:? {0,3}){0,3}(?P<text>\S.{8,400})")
# after other text, # begins a comment of code
_ABOVE_A_HEADING = re.compile(r"\s*$|labels: |.{0,200} · (?:issue|pull request) #\d")
_DOUBT = {"strong": "weak", "likely": "weak"}  # a quotation may be about another job's error

Reader = Callable[[JobLine], Evidence | None]


def find(text: bytes, last_line: int, read: Reader) -> Evidence | None:
    """`text`: the end of the log. `last_line`: the number of its last line. `read`: the reader of a single line."""
    if last_line > MOST_LINES:
        return None
    raw = text.rstrip(b"\n").split(b"\n")
    for place, one in enumerate(raw):
        if one.lstrip().startswith(b"|"):  # a row of a table
            continue
        line = decode(one[:4000], last_line - len(raw) + 1 + place)
        title = _heading(line.text, raw[place - 1] if place else b"") if len(raw) > 1 else ""
        if title:
            line = line._replace(text=title)
        if (
            line.level in ("I", "W")
            or (not title and _is_data(line.text))
            or _is_harmless(line, raw[place + 1 : place + 2])
        ):
            continue
        for span in (*([title] if title else []), *_spans(line.text)):
            if is_doubtful(line.text.replace(span, "")):
                continue
            found = read(_spoken(line, span.strip(" '\"")))
            if found and (found.cause or found.role in ("exit", "watchdog")) and found.role not in ("note", "hint"):
                return replace(found, role=_DOUBT.get(found.role, found.role))
    return None


def unknown(text: bytes, last_line: int) -> Evidence | None:
    """Text that a report marks as output and that says that something failed, though no catalog row matches it."""
    if last_line > MOST_LINES:
        return None
    raw = text.rstrip(b"\n").split(b"\n")
    for place, one in enumerate(raw):
        if one.lstrip().startswith(b"|"):  # a row of a table
            continue
        line = decode(one[:4000], last_line - len(raw) + 1 + place)
        if line.level in ("I", "W") or _is_data(line.text) or _is_harmless(line, raw[place + 1 : place + 2]):
            continue
        for match in _MARKED.finditer(line.text):
            if is_doubtful(line.text.replace(match["text"], "")):
                continue
            if found := of_words(line._replace(text=match["text"].strip(" '\""))):
                return found
    return None


def _is_harmless(line: JobLine, below: list[bytes]) -> bool:
    """Whether the line, or the one below it, calls the error harmless."""
    return failed_calls.is_calm(line.text) or aside.called_harmless([decode(one[:4000]) for one in below])


def _spoken(line: JobLine, span: str) -> JobLine:
    """The quoted text decoded as a log line: with NCCL's prefix, a rank or a level if it has one."""
    inside = decode(span.encode(), line.number)
    return inside._replace(at=inside.at or line.at, host=inside.host or line.host, rank=inside.rank or line.rank)


def _is_data(text: str) -> bool:
    if _IN_QUOTES.match(text):
        return False
    return is_code(text) or text.lstrip().startswith(_DATA)


def _heading(text: str, above: bytes) -> str:
    """The title of a report, which is usually the error itself."""
    match = _HEADING.match(text)
    return match["text"] if match and _ABOVE_A_HEADING.match(above.decode("utf-8", "replace")) else ""


def _spans(text: str) -> Iterator[str]:
    for match in _MARKED.finditer(text):
        yield match["text"]
    if quotation := _IN_QUOTES.match(text):
        yield quotation["text"]
    for match in _RAISED.finditer(text):
        yield match["text"]
