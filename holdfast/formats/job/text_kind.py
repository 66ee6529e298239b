"""What a file is: the log of a job, a document about one, or a program. Only a log says what happened."""

import re
from enum import StrEnum

from holdfast.formats.job.line import JobLine, decode

SAMPLE_BYTES = 16_384
_LONGEST = 400
_LEAST_PROSE = 0.25  # of the lines of a document; the rest is lists, tables and examples
_LEAST_MARKUP = 2
_MOSTLY = 0.6  # prose without any markup
_LEAST_CODE = 0.55
_LEAST_PROGRAM = 8  # lines: a traceback shows as many of code
_FEW = 2
_MOST_LOGGED = 0.1
_QUOTED_LINES = 1
_BANNER = re.compile(r"[-=*]{60,}\s*")  # which launchers put around what they have to say
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been but by can cannot do does for from has have if in into is it its may must no not of"
        " on only or should so such than that the their then there these they this to use used uses was we what when"
        " where which while will with without would you your",
    )
)
_LEAST_FUNCTION_WORDS = 3
_LEAST_WORDS = 6
_WORD = re.compile(r"[a-z]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][a-z]+)?[,.;:!?)]{0,2}")
_SPEAKER = re.compile(
    r"\S{1,80}:\s|\[[^\]]{1,60}\]\s?|\S+(?:Error|Exception|Warning)\b|[A-Z ]{4,}:"
)  # a message's head
_MARKUP = re.compile(
    r"#{1,6} [A-Z\[\d`]|`{3}|~{3}|\.\. [\w-]+::|:\w+: |\[[^\]]{1,80}\]: http|<(?:p|td|tr|li|h\d|div|table|br|!--)\b"
    r"|\s{0,3}(?:[-*+]|\d{1,2}\.) (?=\S+ \S+ \S+ \S)|\|.*\|.*\||={3,}$"
)
_INLINE = re.compile(r"``[^`]+``|(?<!`)`[^`\n]{1,60}`(?!`)|\]\(\S|\*\*[A-Za-z]")
_DEFINES = re.compile(
    r"(?:from [\w.]+ import |import [\w.]+(?: as \w+)?$|(?:async )?def \w+\(|class \w+[:(]|#!/|#include\b|package \w"
    r"|(?:export |const |let |var |function )\w|use strict|set -[eux]|\w+\(\) ?\{)"
)
_CODE = re.compile(
    r"\s*(?:from [\w.]+ import |import \w|(?:async )?def \w+\(|class \w+[:(]|return\b|@\w|(?:el)?if\b.{0,300}[:;{]"
    r"|else\b|for\b.{0,300}[:;{]|while\b|try\b|except\b|finally\b|with\b.{0,300}:|raise \w|self\.|assert\b|yield\b"
    r"|pass$"
    r"|[\w.\[\]\"']{1,80}(?:: [\w.\[\], |]{1,80})? ?[-+*/|]?= ?\S|[\w.]{1,80}\(|[\])},(\[{;]{1,4}$|#|//|/?\*|\"\"\"|'''"
    r"|(?:const|let|var|function|export|local|fi|done|then|esac)\b|\"[^\"]{0,200}\",?$|f?r?\"|[\w.\"']{1,60},$|\w+=)"
)
_FOUND = re.compile(  # what a search printed, and one line each of a history
    r"(?:\.{0,2}/)?[\w.+-]{1,80}(?:/[\w.+-]{1,80}){0,12}\.\w{1,8}[:-]\d{1,6}[:-](?!\d+:|.{0,40}Warning)"
    r"|(?:\* )?[0-9a-f]{7,12} [A-Za-z(\[]"
)
_LEAST_FOUND = 0.8
_VARIABLE = re.compile(r"(?:export )?[A-Z_][A-Z0-9_]{1,80}=")  # of an environment that was printed
_COLUMNS = re.compile(r"[a-z][\w .%-]{0,40}(?:[,;\t][a-z][\w .%-]{0,40}){2,60}$", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
_REPORTER = re.compile(
    r"\b(?:I|I'm|I've|[Mm]y|me|[Ww]e (?:see|saw|get|got|ran)|[Oo]ur (?:cluster|job|run|training|code|node|log)s?)\b"
    r"|#+ \W{0,4}(?:Describe the bug|Bug|Error|Logs?|Actual|Expected|Environment|Steps to|System [Ii]nfo|Your current"
    r"|What happened|Current|Observed|Problem desc|Issue)"
)


class TextKind(StrEnum):
    LOG = "log"
    DOCUMENT = "document"
    PROGRAM = "program"


def kind_of(text: bytes) -> TextKind:
    """`text`: the beginning of a file, or its end."""
    lines = [decode(raw[:_LONGEST]) for raw in text.split(b"\n") if raw.strip()]
    if is_package(text):
        return TextKind.DOCUMENT
    if _has_a_traceback(lines):
        return TextKind.LOG
    if len(lines) > _FEW and sum(bool(_FOUND.match(one.text)) for one in lines) >= _LEAST_FOUND * len(lines):
        return TextKind.PROGRAM
    if len(lines) > _FEW and (_is_table(lines) or all(_VARIABLE.match(one.text) for one in lines)):
        return TextKind.PROGRAM
    logged = sum(is_logged(one) for one in lines)
    if logged > max(_MOST_LOGGED * len(lines), _QUOTED_LINES) or any(_BANNER.fullmatch(one.text) for one in lines):
        return TextKind.LOG
    code = sum(bool(_CODE.match(one.text)) for one in lines)
    defines = any(_DEFINES.match(one.text) for one in lines)
    if defines and code >= max(_LEAST_CODE * len(lines), _LEAST_PROGRAM):
        return TextKind.PROGRAM
    prose = sum(is_prose(one.text) for one in lines)
    markup = sum(
        bool(_MARKUP.match(one.text)) or (bool(_INLINE.search(one.text)) and is_prose(one.text)) for one in lines
    )
    marked = markup >= _LEAST_MARKUP and prose >= _LEAST_PROSE * len(lines)
    written = prose >= max(_MOSTLY * len(lines), _LEAST_PROGRAM)
    return TextKind.DOCUMENT if marked or written else TextKind.LOG


def _is_table(lines: list[JobLine]) -> bool:
    """Whether it is a table of values below the names of its columns."""
    head = lines[0].text
    mark = next((one for one in ",;\t" if one in head), "")
    return bool(mark and _COLUMNS.match(head)) and all(one.text.count(mark) >= head.count(mark) for one in lines)


def _has_a_traceback(lines: list[JobLine]) -> bool:
    """Whether a program failed here; an interpreter that somebody types into, in an example, shows its prompt above."""
    above = ["", *(one.text.lstrip() for one in lines)]
    return any(
        one.text.startswith(_TRACEBACK) and not before.startswith((">>>", "..."))
        for before, one in zip(above, lines, strict=False)
    )


def is_package(text: bytes) -> bool:
    """Whether it describes an installed package, with its whole README."""
    return text.startswith(b"Metadata-Version: ")


def is_logged(line: JobLine) -> bool:
    """Whether a program wrote it: with a time, a level, a rank or the place in its source."""
    return bool(line.at or line.level or line.nccl or line.place) or line.rank is not None


def is_prose(text: str) -> bool:
    """A sentence, or a part of one, that a person wrote for others to read."""
    if _SPEAKER.match(text):
        return False
    words = text.split()
    plain = [word.strip(",.;:!?)(*_\"'") for word in words if _WORD.fullmatch(word.strip("(*_\"'`"))]
    if len(words) < _LEAST_WORDS or len(plain) < 0.5 * len(words):
        return False
    return sum(word in _FUNCTION_WORDS for word in plain) >= _LEAST_FUNCTION_WORDS


def is_report(text: bytes) -> bool:
    """Whether somebody tells what happened to them, which takes no more than a page or two."""
    if len(text) >= SAMPLE_BYTES or is_package(text):
        return False
    return bool(_REPORTER.search(text.decode("utf-8", "replace")))
