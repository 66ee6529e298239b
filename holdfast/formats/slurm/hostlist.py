"""Slurm host lists: n[001-016,020] is seventeen names.

`expand` reads them, `compress` writes them; expanding a compressed list gives the same names.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MOST_NAMES = 1 << 20  # a longer list is a mistake or an attack
_DIGITS_AT_END = re.compile(r"(?s)(.*?)([0-9]*)\Z")  # not \d, which also matches digits of other scripts
_LONGEST_NUMBER = 18
_NO_NAMES = frozenset({"", "(null)", "N/A", "None", "None assigned"})


class NotAHostlist(ValueError):
    """The text is not a hostlist; the message says where it is wrong."""


class _Run(NamedTuple):
    """A literal text, or consecutive numbers from this one on, with their width."""

    first: str
    size: int = 1

    def texts(self) -> Iterable[str]:
        if self.size == 1:
            return (self.first,)
        low = int(self.first)
        return (f"{number:0{len(self.first)}d}" for number in range(low, low + self.size))


def expand(text: str) -> list[str]:
    """The names in the order of the text, each once."""
    if text.strip() in _NO_NAMES:
        return []
    names: dict[str, None] = {}
    for part in _parts(text.strip()):
        for name in _names(part):
            names[name] = None
            if len(names) > MOST_NAMES:
                raise NotAHostlist(f"more than {MOST_NAMES} names in {text[:60]!r}")
    return list(names)


def compress(names: Iterable[str]) -> str:
    """A sorted list, each name once, with runs of numbers in brackets. A text with a comma or bracket is not a name."""
    numbered: dict[tuple[str, int], list[int]] = {}
    plain: list[str] = []
    for name in set(names):
        if not name or set(name) & set("[], \t\n"):
            raise NotAHostlist(f"{name!r} is not a node name")
        prefix, digits = _DIGITS_AT_END.fullmatch(name).groups()  # type: ignore[union-attr]  # it matches anything
        if digits and len(digits) <= _LONGEST_NUMBER:
            # Leading zeros belong to the name, so n01 and n1 are different runs; n9 and n10 are the same one.
            width = len(digits) if digits[0] == "0" else 0
            numbered.setdefault((prefix, width), []).append(int(digits))
        else:
            plain.append(name)
    _join_widths(numbered)
    runs = [_run(prefix, width, sorted(numbers)) for (prefix, width), numbers in numbered.items()]
    return ",".join(sorted(plain + runs))


def _join_widths(numbered: dict[tuple[str, int], list[int]]) -> None:
    """Joins runs of different width: n008, n009 and n010 are one run if a number fills the width of a padded run."""
    for prefix, width in [key for key in numbered if key[1]]:
        loose = numbered.get((prefix, 0), [])
        fitting = [n for n in loose if len(str(n)) == width]
        numbered[(prefix, width)] += fitting
        left = [n for n in loose if len(str(n)) != width]
        if left:
            numbered[(prefix, 0)] = left
        else:
            numbered.pop((prefix, 0), None)


def _run(prefix: str, width: int, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]:0{width}d}"
    pieces: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number == last + 1:
            last = number
            continue
        pieces.append(f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}")
        first = last = number
    return f"{prefix}[{','.join(pieces)}]"


def _parts(text: str) -> Iterator[str]:
    """The text cut at commas outside brackets."""
    depth = 0
    start = 0
    for position, character in enumerate(text):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
        if depth not in (0, 1):
            raise NotAHostlist(f"brackets do not match in {text[:60]!r}")
    if depth:
        raise NotAHostlist(f"brackets do not match in {text[:60]!r}")
    yield text[start:].strip()


def _names(part: str) -> Iterator[str]:
    """All names of one comma-free part; several brackets (r[1-2]n[1-4]) multiply, and the last one varies fastest."""
    if not part or any(c.isspace() or c in "()" for c in part):
        raise NotAHostlist(f"{part[:60]!r} is not a node name")
    pieces: list[list[_Run]] = []
    rest = part
    while rest:
        before, bracket, rest = rest.partition("[")
        pieces.append([_Run(before)])
        if bracket:
            inside, _, rest = rest.partition("]")
            pieces.append(_numbers(inside))
    if math.prod(sum(run.size for run in piece) for piece in pieces) > MOST_NAMES:
        raise NotAHostlist(f"more than {MOST_NAMES} names in {part[:60]!r}")  # before the names are built
    return map("".join, itertools.product(*([text for run in piece for text in run.texts()] for piece in pieces)))


def _numbers(inside: str) -> list[_Run]:
    runs: list[_Run] = []
    for piece in inside.split(","):
        low, dash, high = piece.partition("-")
        high = high if dash else low
        if not _is_number(low) or not _is_number(high):
            raise NotAHostlist(f"[{inside[:60]}] is not a list of numbers")
        if int(high) < int(low):
            raise NotAHostlist(f"[{piece}] does not run upwards")
        runs.append(_Run(low, int(high) - int(low) + 1))
    return runs


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
