"""Removes the wrapping of a text: HTML, a JSON string, escaped line ends, a prefix on every line."""

import csv
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
_NOFORMAT = re.compile(r"^\{(?:noformat|code)(?::[^}\n]{0,80})?\}[ \t]*\n?", re.MULTILINE)  # Jira
_QUOTED_FIELD = re.compile(r"(?:^|,)\"[^\"\n]+\n", re.MULTILINE)  # of CSV, over several lines
_ITEM = re.compile(r"\s*- (.*)")  # YAML
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
    text = _NOFORMAT.sub("", text)
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


def is_item(text: str) -> bool:
    """Whether nothing but parts of the text can be a tool's output: it is escaped, a list of lines, or CSV with text
    over several lines in a field."""
    return is_escaped(text) or bool(_items(text)) or bool(_QUOTED_FIELD.search(text) and _fields(text))


def carried(text: str) -> Iterator[str]:
    """Texts inside a text: strings with line ends and lists of lines in a JSON document, messages of JSON log lines,
    items of a YAML list, fields of CSV, and text with escaped line ends."""
    yield from map(_encodable, _carried(text))


def _encodable(text: str) -> str:
    """JSON can contain half of a surrogate pair, which no UTF-8 text can."""
    return text.encode("utf-8", "replace").decode()


def _carried(text: str) -> Iterator[str]:
    lines = _messages(text) or _items(text)
    if lines is not None:
        yield lines
        return
    if document := json_document.find(text):
        inside = [one for one in _strings(document) if "\n" in one.strip()][:MOST_CARRIED]
        if inside:
            yield from inside
            return
    if _QUOTED_FIELD.search(text) and (fields := _fields(text)):
        yield from fields
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
        return _longest_field(lines)
    return "".join(f"{one.text}\n" for one in inside if one)


def _longest_field(lines: list[str]) -> str | None:
    """Messages of JSON log lines with unknown names: the field that holds most of the text."""
    entries = [one for one in map(_object, lines) if one]
    if len(entries) < len(lines):
        return None
    shared = set.intersection(*({name for name, value in one.items() if isinstance(value, str)} for one in entries))
    longest = max(sorted(shared), key=lambda name: sum(len(one[name]) for one in entries), default=None)
    return None if longest is None else "".join(f"{one[longest]}\n" for one in entries)


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _items(text: str) -> str | None:
    """Lines that are the items of a YAML list, below a line with its name."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [item for line in lines if (item := _ITEM.match(line))]
    if len(found) < 2 or len(found) < len(lines) - 1:
        return None
    return "".join(f"{_unquoted(item[1])}\n" for item in found)


def _unquoted(item: str) -> str:
    if len(item) > 1 and item[0] == item[-1] == "'":
        return item[1:-1].replace("''", "'")
    try:
        found = json.loads(item) if item.startswith('"') else item
    except (ValueError, RecursionError):
        return item
    return found if isinstance(found, str) else item


def _fields(text: str) -> list[str]:
    try:
        rows = list(csv.reader(text.splitlines(keepends=True)))
    except csv.Error:
        return []
    return [field for row in rows for field in row if "\n" in field.strip()][:MOST_CARRIED]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value):
        yield "\n".join(value) + "\n"
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
    """Splits a one-line document into lines; '' for other text."""
    if line.lstrip()[:1] == "<":
        return line.replace("><", ">\n<")
    try:
        return _encodable(json.dumps(json.loads(line), indent=0, ensure_ascii=False))
    except (ValueError, RecursionError):
        return ""
