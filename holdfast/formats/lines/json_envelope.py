"""Log lines that a container runtime or collector wrapped into JSON: Docker, Cloud Logging, Loki, journald."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

_TEXTS = ("log", "textPayload", "MESSAGE", "message", "msg")
_STACKS = ("exc_info", "exception", "stack_trace", "stacktrace")  # keys of tracebacks
_MOMENTS = ("time", "timestamp", "ts", "@timestamp")
_HOSTS = ("_HOSTNAME", "hostname", "host", "node", "pod_name", "pod")
_ERRORS = ("error", "detail")  # an error that a server returned instead of a result
_LEVELS = ("level", "lvl", "levelname")
_REASONS = ("error", "err")  # the reason, if the message only names the attempt
_PAIR = re.compile(rb'"(\w{1,20})":\s?"((?:[^"\\]|\\.){1,2000})"')
_LONGEST_HEAD = 4096  # of a line that was cut
_ONLY_IN_LOGS = ("stream", "severity", "level", "levelname", "PRIORITY", *_MOMENTS)


class Inside(NamedTuple):
    text: str
    moment: str = ""
    host: str = ""
    level: str = ""  # the program's own severity; a collector's severity only shows which stream it was


def opened(raw: bytes) -> Inside | None:
    """The wrapped text; None if the line is no envelope, for example a sample of a data set."""
    if not raw.startswith(b'{"'):
        return None
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _cut(raw)
    if not isinstance(found, dict):
        return None
    answer = next((value for name in _ERRORS if isinstance(value := found.get(name), dict)), None)
    if answer is not None and (text := _first(answer, _TEXTS)):
        return Inside(text.rstrip("\n").rpartition("\n")[2])
    if not any(name in found for name in _ONLY_IN_LOGS):
        return None
    text = _text(found)
    level = _first(found, _LEVELS)
    return Inside(text.rpartition("\n")[2], _first(found, _MOMENTS), _first(found, _HOSTS), level) if text else None


def _cut(raw: bytes) -> Inside | None:
    """The text of a truncated JSON line, if it has a time or a level, as only log lines have."""
    if raw.rstrip().endswith(b"}"):
        return None
    found: dict[str, str] = {}
    for name, value in _PAIR.findall(raw[:_LONGEST_HEAD]):
        found.setdefault(name.decode(), _unescaped(value))
    text = _first(found, _TEXTS)
    if not text or not any(name in found for name in _ONLY_IN_LOGS):
        return None
    return Inside(_last_line(text), _first(found, _MOMENTS), _first(found, _HOSTS), _first(found, _LEVELS))


def _unescaped(value: bytes) -> str:
    try:
        return str(msgspec.json.decode(b'"' + value + b'"'))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return value.decode("utf-8", "replace")


def _text(found: Mapping[str, Any]) -> str:
    text, reason = _first(found, _TEXTS).rstrip("\n"), _last_line(_first(found, _REASONS))
    if text and reason:
        return f"{_last_line(text)}: {reason}"
    return _last_line(_first(found, _STACKS)) or text


def _first(found: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := found.get(name), str) and value), "")


def _last_line(stack: str) -> str:
    return stack.rstrip().rpartition("\n")[2]
