"""Decides whether a file is the log of a job, a document about one, or a program. Only a log is evidence."""

import re
from collections import Counter
from enum import StrEnum

from holdfast.formats.job import markdown, text_lines
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.python_exceptions import frame, looks_like_one
from holdfast.formats.job.text_lines import is_logged, is_prose

SAMPLE_BYTES = 16_384
_LONGEST = 400
_FENCE = b"```"
_LEAST_PROSE = 0.25  # least share of sentences in a document; the rest is lists, tables and examples
_SOME_PROSE = 0.1  # least share in a manual, whose other lines are markup and examples
_MANUAL = 0.5
_LEAST_MARKUP = 2
_MOSTLY = 0.6  # share of sentences in a text without markup
_PARAGRAPH = 0.75  # share of sentences in a short text
_HEAD_WORDS = 3
_LEAST_CODE = 0.55
_LEAST_PROGRAM = 8  # lines of code; a traceback also shows a few
_LEAST_DEFINED = 3  # lines that only source has, and their least share of all lines
_DEFINED = 0.01
_FEW = 2
_MOST_LOGGED = 0.1
_QUOTED_LINES = 1
_BANNER = re.compile(r"[-=*]{60,}\s*")  # launchers frame their messages with it
_LEAST_FOUND = 0.8
_LEAST_OUTCOMES = 0.5
_TRACEBACK_LINES = 12
_TRACEBACK = "Traceback (most recent call last)"
_REPORTER = re.compile(
    r"\b(?:I(?= (?!have for|would|recommend|suggest)[a-z])|I'm|I've|[Mm]y|me|[Ww]e (?:see|saw|get|got|ran)"
    r"|[Oo]ur (?:cluster|job|run|training|code|node|log)s?)\b"
    r"|^(?![^\n]{0,200}\b(?:[Ii]f|[Ww]hen|may|might|can|could|should|you|example)\b)"
    r"[^\n]{5,200}\b(?:this|following) (?:error|exception|traceback|output)(?: message)?:\s{0,4}`{3}"
    r"|#+ \W{0,4}(?:Describe the bug|Actual|Expected|Steps to|System [Ii]nfo|Your current|What happened|Observed"
    r"|Problem desc|(?:Bug|Error|Logs?|Environment|Current|Issue)(?: \w+)?\W{0,3}$)",
    re.MULTILINE,
)
_QUESTION = re.compile(  # a question of a FAQ, not of the author
    r"(?m)^(?:\*\*|#+ )?(?:(?:Q\d*|Question|FAQ)\b[:.].*$"
    r"|(?!When I |.{0,120}\b[Aa]ny(?:one|body)\b)(?:Why|How|What|When|Where|Can|Does|Is|Should)\b.{5,120}\?[*\s]*$)"
)


class TextKind(StrEnum):
    LOG = "log"
    DOCUMENT = "document"
    PROGRAM = "program"


def kind_of(text: bytes) -> TextKind:
    """The kind of a file from its beginning or its end."""
    lines = _lines(text)
    if is_package(text):
        return TextKind.DOCUMENT
    if _is_patch(text):
        return TextKind.PROGRAM
    if markdown.explains(text.decode("utf-8", "replace")):
        return TextKind.DOCUMENT
    if _has_a_traceback(lines):
        return TextKind.LOG
    if markdown.is_page(text.decode("utf-8", "replace")):
        return TextKind.DOCUMENT
    if _is_data(lines):
        return TextKind.PROGRAM
    logged = _is_mostly_logged(lines)
    code = sum(text_lines.is_code(one.text) for one in lines)
    defined = sum(text_lines.defines(one.text) for one in lines)
    if not logged and _is_source(len(lines), code, defined):
        return TextKind.PROGRAM
    if logged or any(_BANNER.fullmatch(one.text) for one in lines):
        return TextKind.LOG
    return TextKind.DOCUMENT if _is_document(lines, code) else TextKind.LOG


def shows_a_log(text: bytes) -> bool:
    """Whether the text holds lines of a running program."""
    lines = _lines(text)
    if is_explained(text):
        return False
    return _has_a_traceback(lines) or _is_mostly_logged(lines)


def is_explained(text: bytes) -> bool:
    """Whether the text has the form of a page, whatever its code blocks contain."""
    page = text.decode("utf-8", "replace")
    return markdown.explains(page) or markdown.is_page(page)


def _lines(text: bytes) -> list[JobLine]:
    """The non-empty lines, without the marks of a code block around all of them."""
    raw = [one[:_LONGEST] for one in text.split(b"\n") if one.strip()]
    if len(raw) > _FEW and raw[0].startswith(_FENCE) and not any(one.startswith(_FENCE) for one in raw[1:-1]):
        raw = raw[1:-1] if raw[-1].startswith(_FENCE) else raw[1:]
    return [decode(one) for one in raw]


def _is_mostly_logged(lines: list[JobLine]) -> bool:
    return sum(is_logged(one) for one in lines) > max(_MOST_LOGGED * len(lines), _QUOTED_LINES)


def _is_data(lines: list[JobLine]) -> bool:
    """Whether all lines have one form: search results, settings, a table, metrics, or test outcomes."""
    if len(lines) <= _FEW:
        return False
    if sum(bool(text_lines.FOUND.match(one.text)) for one in lines) >= _LEAST_FOUND * len(lines):
        return True
    if _is_table(lines) or all(text_lines.VARIABLE.match(one.text) for one in lines):
        return True
    if lines[0].text.startswith("# ") and all(text_lines.METRIC.match(one.text) for one in lines):
        return True
    return _is_list_of_outcomes(lines)


def _is_patch(text: bytes) -> bool:
    """Whether the text is output of `git log` or `git diff`."""
    raw = [one.decode("utf-8", "replace") for one in text.split(b"\n")[:-1]]
    heads = sum(bool(text_lines.PATCH_HEAD.match(one)) for one in raw)
    return heads > 0 and all(text_lines.PATCH.match(one) for one in raw)


def _is_list_of_outcomes(lines: list[JobLine]) -> bool:
    went = [how for one in lines if not is_logged(one) and (how := text_lines.outcome(one.text)) is not None]
    return sum(went) >= _FEW and len(went) > max(_LEAST_OUTCOMES * len(lines), _FEW)


def _is_source(lines: int, code: int, defined: int) -> bool:
    """Whether the text is source: mostly code, or lines that only source has."""
    if lines < _LEAST_PROGRAM:
        return False
    if defined and code >= max(_LEAST_CODE * lines, _LEAST_PROGRAM):
        return True
    if defined >= _MANUAL * lines:
        return True
    return defined >= max(_DEFINED * lines, _LEAST_DEFINED) and code >= _LEAST_PROSE * lines


def _is_document(lines: list[JobLine], code: int) -> bool:
    prose = _sentences(lines)
    markup = sum(text_lines.is_markup(one.text) for one in lines)
    if markup >= _LEAST_MARKUP and prose >= _LEAST_PROSE * len(lines):
        return True
    if markup >= _LEAST_MARKUP and prose >= _SOME_PROSE * len(lines) and prose + markup + code >= _MANUAL * len(lines):
        return not any(is_logged(one) for one in lines)
    if prose >= max(_MOSTLY * len(lines), _LEAST_PROGRAM):
        return True
    return len(lines) > _FEW and prose >= _PARAGRAPH * len(lines) and not any(is_logged(one) for one in lines)


def _sentences(lines: list[JobLine]) -> int:
    """Number of lines that a person wrote. Lines with equal beginnings and different ends are a program's."""
    texts = Counter(one.text for one in lines if is_prose(one.text))
    heads = Counter(_head(text) for text in texts)
    return sum(count for text, count in texts.items() if heads[_head(text)] == 1)


def _head(text: str) -> str:
    return " ".join(text.split()[:_HEAD_WORDS])


def _is_table(lines: list[JobLine]) -> bool:
    """Whether the text is a table: rows below column names, or tabs in every line."""
    head = lines[0].text
    if text_lines.EXPLAINED.match(head):
        return True
    if not any(is_logged(one) for one in lines) and all("\t" in one.text.strip() for one in lines[:-1]):
        return True
    mark = next((one for one in ",;\t" if one in head), "")
    return bool(mark and text_lines.COLUMNS.match(head)) and all(
        one.text.count(mark) >= head.count(mark) for one in lines
    )


def _has_a_traceback(lines: list[JobLine]) -> bool:
    """Whether the text holds a traceback of a program. A prompt above it marks an example of an interactive session."""
    above = ["", *(one.text.lstrip() for one in lines)]
    if _frames_above_an_exception(lines) >= _FEW:
        return True
    return any(
        one.text.startswith(_TRACEBACK) and not text_lines.is_prompt(before)
        for before, one in zip(above, lines, strict=False)
    )


def _frames_above_an_exception(lines: list[JobLine]) -> int:
    """The number of frames directly above an exception whose traceback was copied without its first line."""
    last = next((place for place, one in enumerate(lines) if looks_like_one(one)), 0)
    return sum(bool(frame(one.text)) for one in lines[max(last - _TRACEBACK_LINES, 0) : last])


def is_package(text: bytes) -> bool:
    """Whether the text is the metadata of an installed package, README included."""
    return text.startswith(b"Metadata-Version: ")


def is_report(text: bytes) -> bool:
    """Whether a person reports what happened to them. Reports are at most two pages long."""
    if len(text) >= SAMPLE_BYTES or is_package(text):
        return False
    return bool(_REPORTER.search(_QUESTION.sub("", text.decode("utf-8", "replace"))))
