"""Patterns that run only on text that contains one of their words, and the pieces of text for them.

A log of megabytes has few names and secrets, so most pieces need few of the patterns. Pure.
"""

import re
from collections.abc import Callable, Iterator

from holdfast.catalog.regex_literals import literals_of

LEAST_PIECE = 2000  # characters
_END = frozenset("0123456789.)]")  # end of a line after which no name of a value is split from its value
_NOT_BEGIN = frozenset(" \t\r\n=:\"'`|>\\,;{}[](")  # start of a line that may belong to the one above
_EVERY_CASE = re.compile(r"\(\?i\)")
Repl = str | Callable[[re.Match[str]], str]


class Gated:
    """A compiled pattern and its words: each match contains one of them. A pattern without words always runs."""

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
    """Folds case as regular expressions do, which treat the dotless i as an i."""
    return text.casefold().replace("ı", "i")


def pieces(text: str) -> Iterator[str]:
    """The text in pieces, cut where no name can be separated from its value."""
    start, at = 0, text.find("\n", LEAST_PIECE)
    while at != -1:
        if text[at - 1] in _END and text[at + 1 : at + 2] not in _NOT_BEGIN:
            yield text[start : at + 1]
            start, at = at + 1, text.find("\n", at + 1 + LEAST_PIECE)
        else:
            at = text.find("\n", at + 1)
    yield text[start:]
