"""Tables of squeue, sinfo and sacct: with any delimiter, or in aligned columns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORDS = " "  # as a delimiter: any white space


@dataclass(frozen=True, slots=True)
class SlurmTable:
    rows: list[dict[str, str]]
    """Cells by our name of their column; of two columns with one name the first counts."""
    unreadable: int
    """Records that do not fit the header, such as a truncated line."""


def read(text: str, known: Mapping[str, str], columns: Sequence[str] | None = None, delimiter: str = "") -> SlurmTable:
    """Reads a table. `known` maps Slurm's column names, in lower case, to ours. Without `columns` the first line
    names them."""
    lines = text.splitlines()
    if columns is not None:
        return _delimited(lines, _ours(columns, known), delimiter or "|")
    while lines and not lines[0].strip():
        lines = lines[1:]
    if not lines:
        return SlurmTable([], 0)
    header, body = lines[0], lines[1:]
    delimiter = delimiter or _delimiter(header)
    if delimiter != WORDS:
        return _delimited(body, _ours(header.split(delimiter), known), delimiter)
    if body and re.fullmatch(r"[- ]*-[- ]*", body[0]):
        return _sliced(body[1:], header, [match.span() for match in re.finditer("-+", body[0])], known)
    if header.startswith(" "):
        return _sliced(body, header, _right_aligned(header), known)
    return _delimited(body, _ours(header.split(), known), WORDS)


def _delimiter(header: str) -> str:
    """The text between the first two names: | by default, but sacct --delimiter takes anything."""
    match = re.match(r"\w+([^\w\s]+)(?=\w|$)", header)
    return match[1] if match else (WORDS if " " in header.strip() else "|")


def _ours(columns: Sequence[str], known: Mapping[str, str]) -> list[str]:
    return [known.get(column.strip().lower(), "") for column in columns]


def _delimited(lines: Sequence[str], names: Sequence[str], delimiter: str) -> SlurmTable:
    if delimiter == WORDS:
        cells = [line.split(maxsplit=max(len(names) - 1, 0)) for line in lines if line.strip()]
        fitting = [row for row in cells if len(row) == len(names)]
        return SlurmTable([_named(names, row) for row in fitting], len(cells) - len(fitting))
    records, unreadable = _records(lines, delimiter, len(names))
    return SlurmTable([_named(names, record) for record in records], unreadable)


def _records(lines: Sequence[str], delimiter: str, width: int) -> tuple[list[list[str]], int]:
    """Joins lines until a record is as wide as its header, because comments and submit lines may contain line
    breaks."""
    records: list[list[str]] = []
    unreadable = 0
    begun = ""
    for line in lines:
        if _fits(line, delimiter, width):
            unreadable += bool(begun)
            records.append(line.split(delimiter))
            begun = ""
            continue
        if not begun and not line.strip():
            continue
        begun = f"{begun}\n{line}" if begun else line
        if _fits(begun, delimiter, width):
            records.append(begun.split(delimiter))
            begun = ""
        elif begun.count(delimiter) >= width:
            unreadable += 1
            begun = ""
    return records, unreadable + bool(begun)


def _fits(line: str, delimiter: str, width: int) -> bool:
    """Whether there are as many cells as names; `sacct -p` and formats of squeue add an empty cell at the end."""
    count = line.count(delimiter) + 1
    return count == width or (count == width + 1 and line.rstrip().endswith(delimiter))


def _right_aligned(header: str) -> list[tuple[int, int]]:
    """squeue's default layout: each column ends where its name ends, the last one at the end of the line."""
    ends = [match.end() for match in re.finditer(r"\S+", header)]
    return list(zip([0, *ends], [*ends[:-1], 1 << 20], strict=False))


def _sliced(
    lines: Sequence[str], header: str, spans: Sequence[tuple[int, int]], known: Mapping[str, str]
) -> SlurmTable:
    names = _ours([header[start:end] for start, end in spans], known)
    rows = [[line[start:end] for start, end in spans] for line in lines if line.strip()]
    return SlurmTable([_named(names, row) for row in rows], 0)


def _named(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for name, cell in zip(names, cells, strict=False):
        named.setdefault(name, cell.strip())
    return named
