"""Known job problems and their fixes, as rows of job_problems*.toml."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from holdfast.catalog.regex_literals import PrefilteredPattern

_FILES = (  # rows of earlier files win
    "job_problems_special.toml",
    "job_problems_accelerators.toml",
    "job_problems_cluster.toml",
    "job_problems_mpi.toml",
    "job_problems.toml",
    "job_problems_launch.toml",
    "job_problems_services.toml",
    "job_problems_python.toml",
)
_NOTHING = PrefilteredPattern(r"(?!)")
_HOLE = re.compile(r"(?P<lead>: | \(|)\{(?P<name>\w+?)2?\}(?P<end>\)?)")
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class JobProblem:
    name: str
    cause: str
    role: str
    keywords: tuple[str, ...]
    match: PrefilteredPattern
    says: str
    fix: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict)
    verify: str = ""
    link: str = ""
    owner: str = "job"
    action: str = ""  # the next step, if it differs from the cause's
    again: bool = False
    warned: bool = False  # a line that was logged as a warning counts too
    raised: bool = False  # only an exception shows the problem, not a line with the same words

    @property
    def is_default(self) -> bool:
        """Whether the row is the default of its cause."""
        return not self.keywords

    def sentence(self, found: Mapping[str, object]) -> str:
        return filled(self.says, found)

    def steps(self, found: Mapping[str, object]) -> tuple[str, ...]:
        return tuple(filled(one, found) for one in self.fix)


def filled(text: str, found: Mapping[str, object]) -> str:
    """The text with the names from the line. Without a name, the part of the sentence that needs it is left out."""
    return _HOLE.sub(lambda hole: _shown(found, hole), text)


def _shown(found: Mapping[str, object], hole: re.Match[str]) -> str:
    name, lead, end = hole["name"], hole["lead"], hole["end"]
    said = next((value for part in ("", "2", "3", "4") if (value := found.get(f"{name}{part}"))), "")
    value = str(said or (found.get("code") if name == "what" else "") or "").strip()
    if value:
        return f"{lead}{value[:_LONGEST]}{end}"
    return (end if lead == ": " else "") if lead else f"<{name}>{end}"


def find(
    text: str, rows: Sequence[JobProblem] | None = None, *, raised: bool = True
) -> tuple[JobProblem, dict[str, str]] | None:
    """The first problem that a line or an exception shows, with the named groups of its match.

    `rows`: rows with a keyword in the line, if the caller has searched already. `raised`: the text is an exception.
    """
    for one in _shown_by_lines() if rows is None else rows:
        if one.raised and not raised:
            continue
        if (rows is not None or any(word in text for word in one.keywords)) and (match := one.match.search(text)):
            return one, {name: value for name, value in match.groupdict().items() if value}
    return None


def with_keywords(words: Iterable[bytes]) -> list[JobProblem]:
    """The rows with one of these keywords, in the order of the table."""
    found = {number for word in words for number in _by_keyword().get(word, ())}
    return [_shown_by_lines()[number] for number in sorted(found)]


def named(name: str) -> JobProblem | None:
    return _by_name().get(name)


def of_cause(cause: str) -> JobProblem | None:
    """The default row of a cause."""
    return next((one for one in problems() if one.name.startswith("any_") and one.cause == cause), None)


@cache
def problems() -> tuple[JobProblem, ...]:
    texts = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _FILES)
    return tuple(_problem(row) for text in texts for row in tomllib.loads(text)["problem"])


@cache
def _shown_by_lines() -> tuple[JobProblem, ...]:
    return tuple(one for one in problems() if not one.is_default)


@cache
def _by_keyword() -> dict[bytes, tuple[int, ...]]:
    rows: dict[bytes, tuple[int, ...]] = {}
    for number, one in enumerate(_shown_by_lines()):
        for word in one.keywords:
            rows[word.encode()] = (*rows.get(word.encode(), ()), number)
    return rows


@cache
def _by_name() -> dict[str, JobProblem]:
    return {one.name: one for one in problems()}


def _problem(row: dict[str, Any]) -> JobProblem:
    return JobProblem(
        name=row["name"],
        cause=row["cause"],
        role=row.get("role", "weak"),
        keywords=tuple(row.get("keywords", ())),
        match=PrefilteredPattern(row["match"]) if "match" in row else _NOTHING,
        says=row["says"],
        fix=tuple(row["fix"]),
        settings=dict(row.get("set", {})),
        verify=row.get("verify", ""),
        link=row.get("link", ""),
        owner=row.get("owner", "job"),
        action=row.get("action", ""),
        again=row.get("again", False),
        warned=row.get("warned", False),
        raised=row.get("raised", False),
    )
