"""Known messages in the logs of training jobs, as rows of job_messages.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from holdfast.catalog.regex_literals import PrefilteredPattern

_NUMBER = r"\d{1,18}"
# a port, or a digit, so that a plain word does not match
_ADDRESS = r"(?:[\w.:%\[\]-]{1,255}<\d{1,5}>|(?=[\w.%\[\]-]*[\d:])[\w.:%\[\]-]{1,255})"


_LEAD = re.compile(r"\.\{0,(\d+)\}\??(?![*+?{|)]|$)")  # any characters before the required part of an expression


class JobMessage(NamedTuple):
    code: str
    role: str
    cause: str
    regex: PrefilteredPattern
    lead: int = 0  # any characters that may precede the match


class JobMessageGroup(NamedTuple):
    kind: str
    keywords: tuple[str, ...]
    messages: tuple[JobMessage, ...]


@cache
def groups() -> tuple[JobMessageGroup, ...]:
    text = files(__package__).joinpath("job_messages.toml").read_text(encoding="utf-8")
    return tuple(
        JobMessageGroup(group["kind"], tuple(group["keywords"]), tuple(_message(*row) for row in group["messages"]))
        for group in tomllib.loads(text)["group"]
    )


def _message(code: str, role: str, cause: str, regex: str) -> JobMessage:
    """Stores a lead of any characters as a number.

    As part of the expression, it would be tried everywhere in a line.
    """
    lead = _LEAD.match(regex)
    rest = regex[lead.end() :] if lead and "|" not in _outside(regex) else regex
    anchored = rf"\A(?:{rest})" if rest.startswith(".*") else rest
    reach = int(lead[1]) if lead and rest != regex else 0
    whole = anchored.replace("$N", _NUMBER).replace("$IP", _ADDRESS)
    return JobMessage(code, role, cause, PrefilteredPattern(whole), reach)


def _outside(regex: str) -> str:
    """The text outside of all groups."""
    depth, kept = 0, []
    for place, one in enumerate(regex):
        escaped = place > 0 and regex[place - 1] == "\\"
        depth += (one == "(") * (not escaped) - (one == ")") * (not escaped)
        kept.append(one if depth == 0 else "")
    return "".join(kept)
