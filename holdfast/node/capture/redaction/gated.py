"""Patterns that are tried only on a text that holds one of their words, and a text cut into pieces for them.

A log of megabytes holds few names and secrets: most pieces of it need few of the patterns. Pure.
"""

import re
from collections.abc import Callable, Iterator

from holdfast.catalog.regex_literals import literals_of

LEAST_PIECE = 2000  # characters
_END = frozenset("0123456789.)]")  # of a line that no name of a value ends with: the value would be in the next one
_NOT_BEGIN = frozenset(" \t\r\n=:\"'`|>\\,;{}[](")  # of a line that may belong to the one above
_EVERY_CASE = re.compile(r"\(\?i\)")
Repl = str | Callable[[re.Match[str]], str]


class Gated:
    """A compiled pattern and the words of which each of its matches holds one. Without words it is always tried."""

    __slots__ = ("pattern", "words")

    def __init__(self, pattern: re.Pattern[str], *words: str) -> None:
        self.pattern = pattern
        source = _EVERY_CASE.sub("", pattern.pattern)
        flags = pattern.flags & ~(re.IGNORECASE | re.UNICODE)
        self.words = words or tuple(dict.fromkeys(_folded(word) for word in literals_of(source, flags)))

    def sub(self, repl: Repl, text: str) -> str:
        if self.words:
            folded = _folded(text)
            if not any(word in folded for word in self.words):
                return text
        return self.pattern.sub(repl, text)


def _folded(text: str) -> str:
    """As the regular expressions compare without regard to case: they take the dotless i for an i."""
    return text.casefold().replace("ı", "i")


def pieces(text: str) -> Iterator[str]:
    """The text in pieces that are cut where no name and its value can stand on both sides."""
    start, at = 0, text.find("\n", LEAST_PIECE)
    while at != -1:
        if text[at - 1] in _END and text[at + 1 : at + 2] not in _NOT_BEGIN:
            yield text[start : at + 1]
            start, at = at + 1, text.find("\n", at + 1 + LEAST_PIECE)
        else:
            at = text.find("\n", at + 1)
    yield text[start:]
