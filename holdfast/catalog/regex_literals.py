"""Plain words of which every text that a regular expression finds holds one: they are looked for first."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

_SHORTEST = 3  # characters; a shorter word is in too many lines
_MOST = 100  # words; to look for more costs what the expression does


class PrefilteredPattern:
    """A regular expression that is only tried on texts that hold one of its words.

    It is compiled when the first such text comes: a log needs few of the hundreds that the catalog holds.
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
    """Whether a text shows one of several forms; each is only tried where one of its own words stands.

    Joined into one expression, all of them would be tried at every place of a line that holds a word of one.
    """

    __slots__ = ("_forms",)

    def __init__(self, patterns: Iterable[str]) -> None:
        self._forms = tuple(PrefilteredPattern(form) for pattern in patterns for form in alternatives(pattern))

    def __call__(self, text: str) -> bool:
        return any(form.search(text) for form in self._forms)


def alternatives(pattern: str) -> list[str]:
    """The parts of an expression that a bar divides, outside of all groups and classes."""
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
    """Empty where there are none, or where upper and lower case mean the same."""
    parsed: Any = re._parser.parse(pattern, flags)  # type: ignore[attr-defined]
    if parsed.state.flags & re.IGNORECASE:
        return ()
    found = _of_sequence(parsed)
    return tuple(dict.fromkeys(found)) if found and len(found) <= _MOST else ()


def _of_sequence(parts: Sequence[Any]) -> list[str]:
    """The best of the parts that follow each other: all of them are in the text, one is enough."""
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
    if name == "ASSERT":  # what must stand before or after is in the text too
        return _of_sequence(argument[1])
    if name == "ATOMIC_GROUP":
        return _of_sequence(argument)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _of_sequence(argument[2]) if argument[0] >= 1 else []
    if name == "BRANCH":
        branches = [_of_sequence(one) for one in argument[1]]
        return [word for one in branches for word in one] if all(branches) else []
    return []
