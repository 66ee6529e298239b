"""Advice from the form of an error message that matches no known problem, as rows of error_forms.toml."""

import tomllib
from functools import cache
from importlib.resources import files

from holdfast.catalog.job_problems import filled
from holdfast.catalog.regex_literals import PrefilteredPattern

MOST = 2
_LONGEST = 800


def advice(text: str) -> list[str]:
    """What to change, with the option, path, peer or version that the message names."""
    found: list[str] = []
    for regex, then in _forms():
        if match := regex.search(text[:_LONGEST]):
            found.append(filled(then, match.groupdict()))
        if len(found) == MOST:
            break
    return found


@cache
def _forms() -> tuple[tuple[PrefilteredPattern, str], ...]:
    text = files(__package__).joinpath("error_forms.toml").read_text(encoding="utf-8")
    return tuple((PrefilteredPattern(regex), then) for regex, then in tomllib.loads(text)["form"])
