"""Meaning of CUDA errors, exceptions and kernel events for a job, as rows of job_messages.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from holdfast.catalog.regex_literals import PrefilteredPattern


class Meaning(NamedTuple):
    role: str
    cause: str


OWN = Meaning("strong", "job.exception")  # an exception without a row


def of_cuda(text: str) -> Meaning:
    """The meaning of a CUDA error's text."""
    return _first("cuda", text)


def of_exception(text: str) -> Meaning:
    """The meaning of an exception 'Type: message'."""
    found = _first("exception", text)
    return of_cuda(text) if found.role == "cuda" else found


def of_kernel_event(kind: str, code: str, severity: str) -> Meaning:
    for row_kind, codes, severities, role, cause in _table()["kernel"]:
        if (
            kind == row_kind
            and (not codes or code in codes.split())
            and (not severities or severity in severities.split())
        ):
            return Meaning(role, cause)
    return Meaning("note", "")


def of_verdict(check: str, health: str) -> Meaning:
    for row_check, healths, role, cause in _table()["verdict"]:
        if check in row_check.split() and health in healths.split():
            return Meaning(role, cause)
    return Meaning("note", "")


def _first(table: str, text: str) -> Meaning:
    for meaning, regex in _rows()[table]:
        if regex.search(text):
            return meaning
    return OWN


@cache
def _table() -> dict[str, list[list[str]]]:
    text = files(__package__).joinpath("job_messages.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text)["errors"])


@cache
def _rows() -> dict[str, list[tuple[Meaning, PrefilteredPattern]]]:
    return {
        name: [
            (Meaning(role, cause), PrefilteredPattern(regex, re.IGNORECASE if name == "cuda" else 0))
            for role, cause, regex in _table()[name]
        ]
        for name in ("cuda", "exception")
    }
