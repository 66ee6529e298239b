"""Removes the wrapping of a text: HTML, a JSON string, escaped line ends, a prefix on every line."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from holdfast.formats import json_document
from holdfast.formats.lines import json_envelope

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\ufeff": None, "\u200b": None, "\u2060": None})
_MARKUP = re.compile(r"<(?:pre|code|details|summary)\b|&(?:nbsp|gt|lt|quot);")
_BREAKS = re.compile(r"</?(?:pre|details|summary|p|br|div|li|ul)\b[^<>\n]{0,200}>")
_INLINE = re.compile(r"</?(?:code|span|b|strong|em|i)\b[^<>\n]{0,200}>")
_RECORDED = re.compile(r"^Script (?:started|done) on [^\n]*\n?", re.MULTILINE)
_ONE_HOST = re.compile(r"^[\w.-]+ \| (?:CHANGED|SUCCESS)[^\n]*>>\n", re.MULTILINE)  # ansible
_BOUNDARY = re.compile(r"[\]>]?:(?: |(?=\S))| *\| ?|\] ?| +")
_HOST_PREFIX = re.compile(
    r"(?!kernel:|NVRM:)(?:\[\d+,\d+\]<std(?:out|err)>: ?|[\w.-]*\d[\w.-]*: |[\w.-]*\d[\w.-]* +\| )"
)
OUTLIERS = 0.05  # number of lines at either end of the sort order that may lack the prefix
MOST_BOUNDARIES = 6
LONGEST_PREFIX = 200
ESCAPES_PER_LINE = 3
MOST_CARRIED = 50
LEAST_LINES = 3


def without_markup(text: str) -> str:
    """Removes markup: non-breaking spaces, the tags and entities of a page, the words of `script` and ansible around
    a text, quotation marks around all of it, and the empty line after every line."""
    text = text.translate(_SPACES) if not text.isascii() else text
    if "<?xml" not in text and _MARKUP.search(text):
        text = html.unescape(_INLINE.sub("", _BREAKS.sub("\n", text)))
    text = _RECORDED.sub("", text) if "Script " in text else text
    if " | " in text and len(_ONE_HOST.findall(text)) == 1:
        text = _ONE_HOST.sub("", text)
    stripped = text.strip()
    if len(stripped) > 2 and stripped[0] == stripped[-1] and stripped[0] in "\"'" and "\n" in stripped:
        text = f"{stripped[1:-1]}\n"
    return _without_double_spacing(text)


def _without_double_spacing(text: str) -> str:
    lines = text.rstrip().split("\n")
    if len(lines) < 2 * LEAST_LINES or any(line.strip() for line in lines[1::2]):
        return text
    return "\n".join(lines[::2]) + "\n"


def is_escaped(text: str) -> bool:
    """Whether the text is inside a string, with escaped line ends."""
    return text.count("\\n") >= ESCAPES_PER_LINE * max(1, text.count("\n"))


def carried(text: str) -> Iterator[str]:
    """Texts inside a text: strings with line ends in a JSON document, messages of JSON log lines, and text with
    escaped line ends."""
    if (lines := _messages(text)) is not None:
        yield lines
        return
    if document := json_document.find(text):
        inside = [one for one in _strings(document) if "\n" in one.strip()][:MOST_CARRIED]
        if inside:
            yield from inside
            return
    if is_escaped(text):
        plain = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        yield re.sub(r"\A[^\n]{0,80}?['\"](?=\S)|\n['\"]\s*\Z", "", plain)


def _messages(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith('{"'):
        return None
    inside = [json_envelope.opened(line.encode("utf-8", "replace")) for line in lines]
    if sum(one is not None for one in inside) < (1 - 2 * OUTLIERS) * len(lines):
        return None
    return "".join(f"{one.text}\n" for one in inside if one)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.encode("utf-8", "replace").decode()  # JSON can contain half of a surrogate pair
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def without_host(text: str) -> str | None:
    """Removes the host name or rank at the start of every line (pdsh, mpirun). None without one."""
    lines = [line for line in text.splitlines() if line.strip()]
    prefix = _HOST_PREFIX.match(lines[0]) if len(lines) > 1 else None
    name = prefix[0].rstrip() if prefix else ""
    if prefix is None or not all(line.startswith(name) for line in lines):
        return None
    return _cut(text, prefix[0])


def without_common_prefix(text: str) -> Iterator[str]:
    """Variants of the text without the prefix that nearly all lines share, for each possible end of that prefix,
    shortest first."""
    lines = sorted(line for line in text.splitlines() if line.strip())
    if len(lines) < LEAST_LINES:
        return
    at = int(OUTLIERS * len(lines))
    common = _common(lines[at][:LONGEST_PREFIX], lines[-1 - at][:LONGEST_PREFIX])
    for number, boundary in enumerate(_BOUNDARY.finditer(common)):
        if number == MOST_BOUNDARIES:
            return
        if boundary.start():
            yield _cut(text, common[: boundary.end()])


def _common(first: str, last: str) -> str:
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((at for at, (one, other) in pairs if one != other), min(len(first), len(last)))]


def _cut(text: str, prefix: str) -> str:
    bare = prefix.rstrip()
    lines = (
        line.removeprefix(prefix) if line.startswith(prefix) else line.removeprefix(bare) for line in text.splitlines()
    )
    return "\n".join(lines) + "\n"


def spread_out(line: str) -> str:
    """A document on one line, split into lines; '' if it is none."""
    if line.lstrip()[:1] == "<":
        return line.replace("><", ">\n<")
    try:
        return json.dumps(json.loads(line), indent=0, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
