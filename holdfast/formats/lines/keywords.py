"""Finds the lines of a block that contain one of many keywords, in one pass."""

import importlib
from collections.abc import Iterable
from functools import cache
from typing import Any

Hits = dict[int, list[bytes]]  # start of a line -> its keywords


class Keywords:
    """Finds keywords with hyperscan in one pass, or with RE2, or else word by word, which is much slower. The result is
    the same.

    `common` words occur in every other line of some logs; only their first occurrence in a block is reported, as
    `seen`.
    """

    def __init__(self, words: Iterable[bytes], common: Iterable[bytes] = ()) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._common = tuple(dict.fromkeys(common))
        self._engine = _engine(self._words, self._common)
        self._pattern = _pattern(self._words) if self._engine is None else None

    def find(self, block: bytes) -> tuple[Hits, set[bytes]]:
        """(the lines with keywords and which ones, the common words that occur in the block)."""
        if self._engine is None:
            return self._find_lines(block, self._pattern) if self._pattern else self._find_each(block)
        ends: list[tuple[int, int]] = []
        self._engine.scan(block, match_event_handler=lambda word, _from, to, _flags, _context: ends.append((to, word)))
        hits: Hits = {}
        seen: set[bytes] = set()
        everything = self._words + self._common
        for end, number in ends:
            word = everything[number]
            if number >= len(self._words):
                seen.add(word)
                continue
            words = hits.setdefault(line_start(block, end - len(word)), [])
            if word not in words:
                words.append(word)
        return hits, seen

    def _find_lines(self, block: bytes, pattern: Any) -> tuple[Hits, set[bytes]]:
        """Goes from one line with a hit to the next and searches each of them for all keywords."""
        hits: Hits = {}
        found = pattern.search(block)
        while found:
            start, end = line_start(block, found.start()), line_end(block, found.end() - 1)
            line = block[start : end + 1]  # some keywords end with the end of the line
            hits[start] = [word for word in self._words if word in line]
            found = pattern.search(block, end + 1)
        return hits, {word for word in self._common if word in block}

    def _find_each(self, block: bytes) -> tuple[Hits, set[bytes]]:
        """Searches word by word: dozens of searches are still faster than one regular expression of Python."""
        hits: Hits = {}
        for word in self._words:
            at = block.find(word)
            while at >= 0:
                hits.setdefault(line_start(block, at), []).append(word)
                end = line_end(block, at + len(word) - 1)
                at = block.find(word, end)
        return hits, {word for word in self._common if word in block}


def line_start(block: bytes, at: int) -> int:
    """Start of the line around a position; the carriage return of a progress bar starts a line too."""
    start = block.rfind(b"\n", 0, at) + 1
    return max(start, block.rfind(b"\r", start, at) + 1)


def line_end(block: bytes, at: int) -> int:
    end = block.find(b"\n", at)
    end = len(block) if end < 0 else end
    carriage = block.find(b"\r", at, end)
    return end if carriage < 0 else carriage


@cache
def _engine(words: tuple[bytes, ...], common: tuple[bytes, ...]) -> Any | None:
    try:
        hyperscan: Any = importlib.import_module("hyperscan")
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    everything = words + common
    database.compile(
        expressions=[_escaped(word) for word in everything],
        ids=list(range(len(everything))),
        elements=len(everything),
        flags=[0] * len(words) + [hyperscan.HS_FLAG_SINGLEMATCH] * len(common),
    )
    return database


@cache
def _pattern(words: tuple[bytes, ...]) -> Any | None:
    """RE2 pattern, for platforms without hyperscan, such as Arm."""
    try:
        re2: Any = importlib.import_module("re2")
    except ImportError:
        return None
    return re2.compile(b"|".join(_escaped(word) for word in words))


def _escaped(word: bytes) -> bytes:
    return b"".join(b"\\x%02x" % byte for byte in word)
