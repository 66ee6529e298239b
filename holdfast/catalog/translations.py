"""Words of the C library and the shell in other languages, as rows of translations.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def english(text: str) -> str:
    """The line with its known words translated to English."""
    if text.isascii() and not _in_ascii().search(text):
        return text
    known = _translations()
    changed = _any_of(tuple(known)).sub(lambda found: known[found[0]], text)
    return _announced().sub("Error: ", changed)


def said_as() -> dict[str, str]:
    """Word -> English, for readers that search words before they decode a line."""
    return dict(_translations())


@cache
def _translations() -> dict[str, str]:
    return {other: words for words, *others in _table()["said"] for other in others if other != words}


@cache
def _in_ascii() -> re.Pattern[str]:
    return _any_of(tuple(one for one in (*_translations(), *_table()["announces"]) if one.isascii()))


@cache
def _announced() -> re.Pattern[str]:
    words = "|".join(map(re.escape, _table()["announces"]))
    return re.compile(rf"(?:(?<=^)|(?<=[\s\]|>】]))\S{{0,12}}?(?:{words})\s?[:：]\s?")


@cache
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(one) for one in sorted(words, key=len, reverse=True)))


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("translations.toml").read_text(encoding="utf-8"))
