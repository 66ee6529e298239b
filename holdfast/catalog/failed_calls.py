"""Meaning of a failed call, by subsystem and errno, as rows of failed_calls.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from holdfast.catalog.regex_literals import AnyOfPatterns

_NUMBER_WORDS = ("non-zero status: ",)  # words before an error number
_NUMBERED = re.compile(r"\berrno[:= ]+(\d{1,3})\b|non-zero status: (\d{1,3})\b|\[Errno (\d{1,3})\]|\(errno: ?(\d{1,3})")


class CallMeaning(NamedTuple):
    subsystem: str
    error: str  # the name of the errno
    role: str
    cause: str
    problem: str


def meaning(text: str) -> CallMeaning | None:
    """The meaning of a line that names a system error; None if no row matches."""
    error = error_of(text)
    if not error:
        return None
    part = subsystem(text)
    for row_subsystem, errors, role, cause, problem in _table()["meaning"]:
        if row_subsystem in (part, "*") and error in errors.split():
            return CallMeaning(part, error, role, cause, problem)
    return None


def subsystem(text: str) -> str:
    """The part of the system that a line names; '' if no row matches."""
    return next((name for name, shows in _subsystems() if shows(text)), "")


def error_of(text: str) -> str:
    """The name of the error that a line gives in words or as a number; '' if it gives none."""
    for words, name in _texts().items():
        if words in text:
            return name
    found = _NUMBERED.search(text)
    number = int(next(group for group in found.groups() if group)) if found else 0
    return next((name for name, value, _ in _table()["error"] if number and value == number), "")


def cause_of_error(text: str) -> str:
    """The cause of a last error. Without a matching row it is the set-up, because the job made no step."""
    return next((cause for cause, shows in _bare() if shows(text)), "launcher.setup")


def cause_of_nccl_source(place: str) -> tuple[str, str]:
    """The cause and the problem that a warning of NCCL points to by its source file."""
    return next(((cause, problem) for regex, cause, problem in _nccl_sources() if regex.search(place)), ("", ""))


def is_harmless(text: str) -> bool:
    return _harmless()(text) or is_calm(text)


def is_calm(text: str) -> bool:
    """Whether a line says that a missing library or backend is optional."""
    return _calm()(text) or is_called_harmless(text)


def is_called_harmless(text: str) -> bool:
    """Whether a line calls a message harmless, its own or the one above."""
    return _declared()(text)


def keywords() -> tuple[str, ...]:
    """The words of all errors that have a row."""
    return (*_texts(), *_NUMBER_WORDS)


@cache
def _texts() -> dict[str, str]:
    return {text: name for name, _, text in _table()["error"]}


@cache
def _subsystems() -> tuple[tuple[str, AnyOfPatterns], ...]:
    return tuple((name, AnyOfPatterns([regex])) for name, regex in _table()["subsystem"])


@cache
def _bare() -> tuple[tuple[str, AnyOfPatterns], ...]:
    return tuple((cause, AnyOfPatterns([regex])) for cause, regex in _table()["bare"])


@cache
def _nccl_sources() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    return tuple((re.compile(regex), cause, problem) for regex, cause, problem in _table()["nccl_source"])


@cache
def _harmless() -> AnyOfPatterns:
    return AnyOfPatterns(_table()["harmless"])


@cache
def _calm() -> AnyOfPatterns:
    return AnyOfPatterns(_table()["calm"])


@cache
def _declared() -> AnyOfPatterns:
    return AnyOfPatterns(_table()["declared"])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("failed_calls.toml").read_text(encoding="utf-8"))
