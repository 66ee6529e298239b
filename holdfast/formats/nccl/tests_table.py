"""Rows of the nccl-tests table, with any prefix and any set of columns.

The header row names the columns. If it is missing, the number of columns decides. One half of a
row has the out-of-place results, the other the in-place results.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.formats.nccl.tests_result import GIGABYTE, MICROSECOND, NcclTestRow, number

_HEAD = re.compile(r"#\s*(size|bytes)\s+(?:count|N)\s+type\s+(\S.*)")
_ROW = re.compile(r"(?<![\w.,-])([0-9]{1,15})\s+([0-9]{1,15})\s+([a-z]\w{1,15})\s+(\S.*)")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}")
_MILLISECOND = 1e-3  # unit of tables whose first column is called bytes

_NAMES = {"cputime": "time", "op": "redop", "#wrong": "wrong", "error": "deviation", "res": "deviation"}
_PLAIN = ("time", "algbw", "busbw", "wrong")
_TIMED = ("i_min", "i_max", "i_p99", "i_cv%")
_BITS = ("#bitdiff",)
_HALVES = {4: (_PLAIN,), 8: (_PLAIN,) * 2, 10: (_PLAIN + _BITS,) * 2, 16: (_PLAIN + _TIMED,) * 2}
_HALVES[18] = (_PLAIN + _BITS + _TIMED,) * 2

# Largest relative deviation that older versions accept. Only sums deviate at all.
_ALLOWED = {"half": 5e-2, "float16": 5e-2, "bfloat16": 5e-2, "float": 1e-5, "double": 1e-12}

Half = Mapping[str, str]


def rows(lines: Iterable[str]) -> Iterator[NcclTestRow]:
    head: list[str] = []
    unit = MICROSECOND
    for line in lines:
        if named := _HEAD.search(line):
            head = [_NAMES.get(word, word) for word in named[2].split() if word != "timestamp"]
            unit = _MILLISECOND if named[1] == "bytes" else MICROSECOND
        elif (found := _ROW.search(line)) and (row := _row(found, head, unit)):
            yield row


def _row(found: re.Match[str], head: Sequence[str], unit: float) -> NcclTestRow | None:
    words = [word for word in found[4].split() if not _MOMENT.fullmatch(word)]
    columns = _columns(head, words)
    halves = _halves(columns, words)
    figures = next(filter(None, map(_figures, halves)), None)
    if figures is None:
        return None
    time, algorithm, bus, variation = figures
    counts = [count for half in halves if (count := _wrong(half, found[3])) is not None]
    operation = words[columns.index("redop")] if "redop" in columns else "none"
    return NcclTestRow(
        bytes=int(found[1]),
        seconds=time * unit,
        algbw_bytes_per_second=algorithm * GIGABYTE,
        busbw_bytes_per_second=bus * GIGABYTE,
        wrong=sum(counts) if counts else None,
        variation=variation,
        reduces=operation != "none",
        rooted="root" in columns and words[columns.index("root")].isdigit(),
    )


def _columns(head: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """Columns of a row: all of the head, or those of its first half. Rows with another number of words are truncated.

    An operation without reduction may leave `redop` empty: then the first word is a number.
    """
    if head[:1] == ["redop"] and not words[0].isalpha():
        head = head[1:]
    front = head.index("time") if "time" in head else len(head)
    half = front + (len(head) - front) // 2
    if len(words) > len(head):
        return _guessed(words)
    return head[: len(words)] if len(words) in (len(head), half) else ()


def _halves(columns: Sequence[str], words: Sequence[str]) -> list[Half]:
    starts = [place for place, name in enumerate(columns) if name == "time"]
    return [
        dict(zip(columns[start:end], words[start:end], strict=True))
        for start, end in zip(starts, [*starts[1:], len(columns)], strict=False)
    ]


def _guessed(words: Sequence[str]) -> Sequence[str]:
    """Guesses the columns of a table without a header row: a leading word is `redop`, an odd number of values has
    `root`, and the rest is one or two groups of results."""
    front = ["redop"] if words[0].isalpha() else []
    if (len(words) - len(front)) % 2:
        front.append("root")
    halves = _HALVES.get(len(words) - len(front), ())
    return [*front, *(name for half in halves for name in half)]


def _figures(half: Half) -> tuple[float, float, float, float | None] | None:
    time, algorithm, bus = (number(half.get(name)) for name in ("time", "algbw", "busbw"))
    if not time or algorithm is None or bus is None or not ("wrong" in half or "deviation" in half):
        return None
    variation = number(half.get("i_cv%"))
    return time, algorithm, bus, None if variation is None else variation / 100.0


def _wrong(half: Half, kind: str) -> int | None:
    """Number of wrong elements; for a deviation, 1 if it is too large. None if nothing was validated."""
    word = half.get("wrong") or half.get("deviation") or "N/A"
    if word == "N/A":
        return None
    value, bits = number(word), number(half.get("#bitdiff")) or 0.0
    if value is None:
        return 1  # not a number, or infinite
    if "deviation" in half or value != int(value):
        return int(value > _ALLOWED.get(kind, 0.0))
    return int(value + bits)
