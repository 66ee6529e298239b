"""Decides whether a line is a message of a program, a sentence, source code, markup, or a row of data."""

import re

from holdfast.formats.job.line import JobLine

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
)  # the head of a message
_MARKUP = re.compile(
    r"#{1,6} [A-Z\[\d`]|`{3}|~{3}|\.\. ?[\w-]+::|:\w+: |\[[^\]]{1,80}\]: http|<(?:p|td|tr|li|h\d|div|table|br|!--)\b"
    r"|\s{0,3}(?:[-*+]|\d{1,2}\.) (?=\S+ \S+ \S+ \S)|\|.*\|.*\||={3,}$|[-~^\"'*+]{4,59}$"
    r"|\*\*[A-Z][^*\n]{3,100}\*\*:?\s*$|\.(?:TH|SH|SS|PP|TP|IP|LP|BR?|IR?|RS|RE|nf|fi|sp|\\\") ?"
    r"|=(?:head\d|item|over|back|cut|pod)\b"
)
_INLINE = re.compile(r"``[^`]+``|(?<!`)`[^`\n]{1,60}`(?!`)|\]\(\S|\*\*[A-Za-z]")
_DEFINES = re.compile(
    r"\s{0,8}(?:from [\w.]+ import |import [\w.]+(?: as \w+)?$|import \"|(?:async )?def \w+\(|class \w+[:(]"
    r"|(?:public|private|protected|static) [\w<>\[\]]+ \w)"
    r"|#!/|# *(?:include|ifn?def|define|pragma)\b|package [\w.]+;?$|pkg [\w/]+[, ]"
    r"|(?:pub )?(?:fn|mod|impl|struct|enum) \w"
    r"|(?:declare|typedef|interface|func|type|extern) [\w\"(]"
    r"|(?:export |const |let |var |function )\w|[\"']?use strict|set -[eux]|\w+\(\) ?\{"
)
_CODE = re.compile(
    r"\s*(?:from [\w.]+ import |import [\w\"]|(?:async )?def \w+\(|class \w+[:(]|return\b|@\w|(?:el)?if\b.{0,300}[:;{]"
    r"|else\b|for\b.{0,300}[:;{]|while\b|try\b|except\b|finally\b|with\b.{0,300}:|raise \w|self\.|assert\b|yield\b"
    r"|pass$|>>> ?|\.\.\. |[(\[{]{1,3}[\"'*\w]"
    r"|(?:func|type|struct|case|switch|static|typedef|extern|declare|namespace)\b"
    r"|[\w.\[\]\"']{1,80}(?:: [\w.\[\], |]{1,80})?[ \t]{0,40}[-+*/|:]?= ?\S"
    r"|[\w.]{1,80}\(|[\])},(\[{;]{1,4}$|#|//|/?\*|\"\"\"|'''"
    r"|(?:const|let|var|function|export|local|fi|done|then|esac)\b|\"[^\"]{0,200}\",?$|f?r?\"|[\w.\"']{1,60},$|\w+="
    r"|(?:[\w.\"']{1,60}:\s{1,40})?'[^']{1,200}',?$|[\w.]{1,60}:\s{2,40}\"[^\"]{0,200}\",?$|!function\()"
)
_PROMPT = re.compile(r">>> ?|\.\.\. ")
FOUND = re.compile(  # output of a search (grep), or of `git log --oneline`
    r"(?:\.{0,2}/)?[\w.+-]{1,80}(?:/[\w.+-]{1,80}){0,12}\.\w{1,8}[:-]\d{1,6}[:-]"
    r"(?!\d+:|.{0,40}Warning| ?(?:fatal )?error:|.{0,300}Assertion `)"
    r"|(?:\* )?[0-9a-f]{7,12} [A-Za-z(\[]"
)
PATCH_HEAD = re.compile(r"diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|(?:---|\+\+\+) [ab]/|commit [0-9a-f]{40}\b")
PATCH = re.compile(r"[-+ @]|$|diff |index |new file |deleted |commit [0-9a-f]{40}|(?:Author|Date|Merge): ")
VARIABLE = re.compile(r"(?:export )?[A-Z_][A-Z0-9_]{1,80}=")  # one variable of a printed environment
COLUMNS = re.compile(r"[a-z][\w .%-]{0,40}(?:[,;\t][a-z][\w .%-]{0,40}){2,60}$", re.IGNORECASE)
EXPLAINED = re.compile(  # the head of a table that explains names or numbers
    r"(?:[\w-]{2,40}(?: [\w-]{1,40}){0,2} {2,}){1,6}(?:Description|Meaning|Explanation|Comment)s?\s*$", re.IGNORECASE
)
METRIC = re.compile(r"# (?:HELP|TYPE|UNIT|EOF)\b|[A-Za-z_:][\w:]{0,200}(?:\{.*\})? [-+.\deE]{1,40}(?: \d{1,20})?$")
_OUTCOME = re.compile(  # the outcome of one test of many
    r"\s{0,8}(?P<item>[^\s:](?:[^\n:]|:(?! )){0,120}?)(?::|\s\.*|\s*\.{2,})\s*"
    r"(?:(?P<well>pass(?:ed)?|ok|success|succeeded|skipped|xfail)"
    r"|fail(?:ed)?|error|timed out|timeout|crashed)\b(?![=/\w])",
    re.IGNORECASE,
)


def is_logged(line: JobLine) -> bool:
    """Whether a program wrote the line: it has a time, a level, a rank or a source place."""
    return bool(line.at or line.level or line.nccl or line.place) or line.rank is not None


def is_prose(text: str) -> bool:
    """Whether the text is a sentence, or part of one, that a person wrote."""
    if _SPEAKER.match(text):
        return False
    words = text.split()
    plain = [word.strip(",.;:!?)(*_\"'") for word in words if _WORD.fullmatch(word.strip("(*_\"'`"))]
    if len(words) < _LEAST_WORDS or len(plain) < 0.5 * len(words):
        return False
    return sum(word in _FUNCTION_WORDS for word in plain) >= _LEAST_FUNCTION_WORDS


def is_code(text: str) -> bool:
    return bool(_CODE.match(text))


def defines(text: str) -> bool:
    """Whether the line imports, declares or defines something, as only source code does."""
    return bool(_DEFINES.match(text))


def is_markup(text: str) -> bool:
    return bool(_MARKUP.match(text)) or (bool(_INLINE.search(text)) and is_prose(text))


def is_prompt(text: str) -> bool:
    """Whether the line is a prompt of an interactive interpreter, usually in an example."""
    return bool(_PROMPT.match(text))


def outcome(text: str) -> bool | None:
    """The outcome that a row of a result list states, or None."""
    found = _OUTCOME.match(text)
    return bool(found["well"]) if found else None
