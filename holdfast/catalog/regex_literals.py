"""Finds plain words of a regular expression: every match contains one of them, so they are searched first."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

_SHORTEST = 3  # characters; shorter words are in too many lines
_MOST = 100  # words; a search for more costs as much as the expression


class PrefilteredPattern:
    """A regular expression that is tried only on texts with one of its words.

    It is compiled on first use: a log needs few of the hundreds in the catalog.
    """

    __slots__ = ("_flags", "_regex", "_words", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags
        self._regex: re.Pattern[str] | None = None
        self._words: tuple[str, ...] | None = None

    @property
    def literals(self) -> tuple[str, ...]:
        if self._words is None:
            self._words = literals_of(self.pattern, self._flags)
        return self._words

    def search(self, text: str) -> re.Match[str] | None:
        if self.literals and not any(word in text for word in self.literals):
            return None
        if self._regex is None:
            self._regex = re.compile(self.pattern, self._flags)
        return self._regex.search(text)


class AnyOfPatterns:
    """Several expressions; each is tried only on texts with one of its own words.

    As one joined expression, all of them would be tried everywhere in a line with a word of one of them.
    """

    __slots__ = ("_forms",)

    def __init__(self, patterns: Iterable[str]) -> None:
        self._forms = tuple(PrefilteredPattern(form) for pattern in patterns for form in alternatives(pattern))

    def __call__(self, text: str) -> bool:
        return any(form.search(text) for form in self._forms)


def alternatives(pattern: str) -> list[str]:
    """The alternatives of an expression: its parts between bars outside of groups and classes."""
    parts, depth, in_class, escaped = [""], 0, False, False
    for one in pattern:
        depth += (not escaped and not in_class) * ((one == "(") - (one == ")"))
        if not escaped and one in "[]":
            in_class = one == "["
        if one == "|" and not (depth or escaped or in_class):
            parts.append("")
        else:
            parts[-1] += one
        escaped = one == "\\" and not escaped
    return parts


def literals_of(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """The words of an expression. Empty if there are none, or if the expression ignores case."""
    parsed: Any = re._parser.parse(pattern, flags)  # type: ignore[attr-defined]
    if parsed.state.flags & re.IGNORECASE:
        return ()
    found = _of_sequence(parsed)
    return tuple(dict.fromkeys(found)) if found and len(found) <= _MOST else ()


def _of_sequence(parts: Sequence[Any]) -> list[str]:
    """The best words of a sequence: a match contains all of its parts, so the words of one part suffice."""
    choices: list[list[str]] = []
    run = ""
    for operation, argument in parts:
        name = str(operation)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if run:
            choices.append([run])
            run = ""
        if found := _of_part(name, argument):
            choices.append(found)
    if run:
        choices.append([run])
    good = [one for one in choices if min(map(len, one)) >= _SHORTEST]
    return max(good, key=lambda one: (min(map(len, one)), -len(one)), default=[])


def _of_part(name: str, argument: Any) -> list[str]:
    if name == "SUBPATTERN":
        return [] if argument[1] & re.IGNORECASE else _of_sequence(argument[3])
    if name == "ASSERT":  # the text contains look-behinds and look-aheads too
        return _of_sequence(argument[1])
    if name == "ATOMIC_GROUP":
        return _of_sequence(argument)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _of_sequence(argument[2]) if argument[0] >= 1 else []
    if name == "BRANCH":
        branches = [_of_sequence(one) for one in argument[1]]
        return [word for one in branches for word in one] if all(branches) else []
    return []
