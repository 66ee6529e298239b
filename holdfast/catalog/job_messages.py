"""Messages of a training job's logs that mean something, as rows of job_messages.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_NUMBER = r"\d{1,18}"
_ADDRESS = r"(?:[\w.:%\[\]-]{1,255}<\d{1,5}>|(?=[\w.%\[\]-]*[\d:])[\w.:%\[\]-]{1,255})"  # a port, or a digit: no word


class JobMessage(NamedTuple):
    code: str
    role: str
    cause: str
    regex: re.Pattern[str]


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
    anchored = rf"\A(?:{regex})" if regex.startswith(".*") else regex  # else a search tries every place of a long line
    return JobMessage(code, role, cause, re.compile(anchored.replace("$N", _NUMBER).replace("$IP", _ADDRESS)))
