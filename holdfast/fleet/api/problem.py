"""Error responses of the API: a status, one sentence, and nothing changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec


class ProblemBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every answer that is not a success."""

    error: str
    code: str = ""
    """Which refusal it is, where one status has several: a program need not read the sentence."""


@dataclass(slots=True)
class Problem(Exception):
    status: int
    sentence: str
    headers: Mapping[str, str] = field(default_factory=dict)
    who: tuple[str, str] = ("", "")
    """Name and role of who asked, where they are known and yet refused."""
    code: str = ""
    """Of `Refused`; every 409 has one."""

    def __str__(self) -> str:
        return self.sentence


def busy(sentence: str, seconds: int = 2) -> Problem:
    return Problem(503, sentence, {"Retry-After": str(seconds)})


def elsewhere(leader: str) -> Problem:
    """The answer if another controller leads: its address, if known. The caller adds the path."""
    if not leader:
        return busy("no controller leads at this moment; try again")
    return Problem(307, f"another controller leads: {leader}", {"Location": leader})


def headers_for(problem: Problem, path: str, query: str = "") -> dict[str, str]:
    """Headers of the answer. `path` is decoded, so it is encoded again: raw, it could inject a header."""
    headers = dict(problem.headers)
    if "Location" in headers:
        headers["Location"] += quote(path, safe="/") + (f"?{query}" if query else "")
    return headers
