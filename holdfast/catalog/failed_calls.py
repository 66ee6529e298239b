"""Meaning of a failed call, by subsystem and errno, as rows of failed_calls.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from holdfast.catalog.regex_literals import AnyOfPatterns

_NUMBER_WORDS = ("non-zero status: ",)  # before the number of an error that is not written out
_NUMBERED = re.compile(r"\berrno[:= ]+(\d{1,3})\b|non-zero status: (\d{1,3})\b|\[Errno (\d{1,3})\]|\(errno: ?(\d{1,3})")


class CallMeaning(NamedTuple):
    subsystem: str
    error: str  # the name of the errno
    role: str
    cause: str
    problem: str


def meaning(text: str) -> CallMeaning | None:
    """Of a line that names an error of the system; None where no row fits."""
    error = error_of(text)
    if not error:
        return None
    part = subsystem(text)
    for row_subsystem, errors, role, cause, problem in _table()["meaning"]:
        if row_subsystem in (part, "*") and error in errors.split():
            return CallMeaning(part, error, role, cause, problem)
    return None


def subsystem(text: str) -> str:
    """Which part of the system a line speaks of, '' where no row knows."""
    return next((name for name, shows in _subsystems() if shows(text)), "")


def error_of(text: str) -> str:
    """The name of the error that a line gives in words or as a number, '' where it gives none."""
    for words, name in _texts().items():
        if words in text:
            return name
    found = _NUMBERED.search(text)
    number = int(next(group for group in found.groups() if group)) if found else 0
    return next((name for name, value, _ in _table()["error"] if number and value == number), "")


def cause_of_error(text: str) -> str:
    """What a last error points to where no row knows it: before the first step it is the set-up."""
    return next((cause for cause, shows in _bare() if shows(text)), "launcher.setup")


def is_harmless(text: str) -> bool:
    return _harmless()(text) or is_calm(text)


def is_calm(text: str) -> bool:
    """Whether a line says itself that a library or a backend that it looked for need not be there."""
    return _calm()(text) or is_called_harmless(text)


def is_called_harmless(text: str) -> bool:
    """Whether a line says that a message, its own or the one above, does no harm."""
    return _declared()(text)


def keywords() -> tuple[str, ...]:
    """The words of every error that some row has a meaning for."""
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
