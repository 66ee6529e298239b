"""What a file is: the log of a job, a document about one, or a program. Only a log says what happened."""

import re
from enum import StrEnum

from holdfast.formats.job import text_lines
from holdfast.formats.job.line import JobLine, decode
from holdfast.formats.job.text_lines import is_logged, is_prose

SAMPLE_BYTES = 16_384
_LONGEST = 400
_LEAST_PROSE = 0.25  # of the lines of a document; the rest is lists, tables and examples
_SOME_PROSE = 0.1  # of a manual, where markup and examples make up the rest of its lines
_MANUAL = 0.5
_LEAST_MARKUP = 2
_MOSTLY = 0.6  # prose without any markup
_PARAGRAPH = 0.75  # of a short text
_LEAST_CODE = 0.55
_LEAST_PROGRAM = 8  # lines: a traceback shows as many of code
_LEAST_DEFINED = 3  # lines that only source has, and this part of all
_DEFINED = 0.01
_FEW = 2
_MOST_LOGGED = 0.1
_QUOTED_LINES = 1
_BANNER = re.compile(r"[-=*]{60,}\s*")  # which launchers put around what they have to say
_LEAST_FOUND = 0.8
_LEAST_OUTCOMES = 0.5
_TRACEBACK = "Traceback (most recent call last)"
_REPORTER = re.compile(
    r"\b(?:I|I'm|I've|[Mm]y|me|[Ww]e (?:see|saw|get|got|ran)|[Oo]ur (?:cluster|job|run|training|code|node|log)s?)\b"
    r"|#+ \W{0,4}(?:Describe the bug|Actual|Expected|Steps to|System [Ii]nfo|Your current|What happened|Observed"
    r"|Problem desc|(?:Bug|Error|Logs?|Environment|Current|Issue)(?: \w+)?\W{0,3}$)",
    re.MULTILINE,
)
_QUESTION = re.compile(r"(?m)^(?:\*\*|#+ )?(?:Q\d*|Question|FAQ)\b[:.].*$")  # that others ask


class TextKind(StrEnum):
    LOG = "log"
    DOCUMENT = "document"
    PROGRAM = "program"


def kind_of(text: bytes) -> TextKind:
    """`text`: the beginning of a file, or its end."""
    lines = _lines(text)
    if is_package(text):
        return TextKind.DOCUMENT
    if _is_patch(text):
        return TextKind.PROGRAM
    if _has_a_traceback(lines):
        return TextKind.LOG
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
    """Whether lines of a program that runs stand in it, whatever stood above."""
    lines = _lines(text)
    return _has_a_traceback(lines) or _is_mostly_logged(lines)


def _lines(text: bytes) -> list[JobLine]:
    return [decode(raw[:_LONGEST]) for raw in text.split(b"\n") if raw.strip()]


def _is_mostly_logged(lines: list[JobLine]) -> bool:
    return sum(is_logged(one) for one in lines) > max(_MOST_LOGGED * len(lines), _QUOTED_LINES)


def _is_data(lines: list[JobLine]) -> bool:
    """Rows of one form: what a search found, settings, a table, metrics, or how each of many things went."""
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
    """Whether it is what `git log` or `git diff` shows: changes of source, and what people wrote of them."""
    raw = [one.decode("utf-8", "replace") for one in text.split(b"\n")[:-1]]
    heads = sum(bool(text_lines.PATCH_HEAD.match(one)) for one in raw)
    return heads > 0 and all(text_lines.PATCH.match(one) for one in raw)


def _is_list_of_outcomes(lines: list[JobLine]) -> bool:
    went = [how for one in lines if not is_logged(one) and (how := text_lines.outcome(one.text)) is not None]
    return sum(went) >= _FEW and len(went) > max(_LEAST_OUTCOMES * len(lines), _FEW)


def _is_source(lines: int, code: int, defined: int) -> bool:
    """By how much of it is code, or by lines that only source has."""
    if lines < _LEAST_PROGRAM:
        return False
    if defined and code >= max(_LEAST_CODE * lines, _LEAST_PROGRAM):
        return True
    if defined >= _MANUAL * lines:
        return True
    return defined >= max(_DEFINED * lines, _LEAST_DEFINED) and code >= _LEAST_PROSE * lines


def _is_document(lines: list[JobLine], code: int) -> bool:
    prose = sum(is_prose(one.text) for one in lines)
    markup = sum(text_lines.is_markup(one.text) for one in lines)
    if markup >= _LEAST_MARKUP and prose >= _LEAST_PROSE * len(lines):
        return True
    if markup >= _LEAST_MARKUP and prose >= _SOME_PROSE * len(lines) and prose + markup + code >= _MANUAL * len(lines):
        return not any(is_logged(one) for one in lines)
    if prose >= max(_MOSTLY * len(lines), _LEAST_PROGRAM):
        return True
    return len(lines) > _FEW and prose >= _PARAGRAPH * len(lines) and not any(is_logged(one) for one in lines)


def _is_table(lines: list[JobLine]) -> bool:
    """Whether it is a table: below the names of its columns, or with a tab between them in every line."""
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
    """Whether a program failed here; an interpreter that somebody types into, in an example, shows its prompt above."""
    above = ["", *(one.text.lstrip() for one in lines)]
    return any(
        one.text.startswith(_TRACEBACK) and not text_lines.is_prompt(before)
        for before, one in zip(above, lines, strict=False)
    )


def is_package(text: bytes) -> bool:
    """Whether it describes an installed package, with its whole README."""
    return text.startswith(b"Metadata-Version: ")


def is_report(text: bytes) -> bool:
    """Whether somebody tells what happened to them, which takes no more than a page or two."""
    if len(text) >= SAMPLE_BYTES or is_package(text):
        return False
    return bool(_REPORTER.search(_QUESTION.sub("", text.decode("utf-8", "replace"))))
