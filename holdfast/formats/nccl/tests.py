"""Output of nccl-tests: the table of any version, with or without launcher prefixes, and its JSON file.

A truncated table gives the rows it has and says so. Text without any row gives the reason, if it shows one.
"""

import re
from collections.abc import Iterable, Sequence

from holdfast.formats.nccl import tests_json as nccl_tests_json
from holdfast.formats.nccl import tests_table as nccl_tests_table
from holdfast.formats.nccl.tests_result import GIGABYTE, NO_ROW, NcclTestRow, Sweep, damage, number, operation_of

__all__ = ["NcclTestRow", "Sweep", "network_among", "network_of", "parse"]

SOCKET = "Socket"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_RANK = re.compile(r"\bRank\s+(\d+)\s.{0,200}?\bon\s+(\S{1,255})\s+device\s+\d+\s+\[[^\]]{0,40}\]\s+(.*\S)")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S+)")
_OUT_OF_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d{1,18})\b")
_OTHER_BITS = re.compile(r"Bitwise mismatches\s*:\s*(\d{1,18})\b")
# A listed adapter is one that is used; NET/IB also says "Using [RO]" when it has none.
_NETWORK = re.compile(
    r"NCCL INFO (?:Using network (\S.{0,80}?)\s*$|Assigned NET plugin (\S.{0,80}?) to comm\s*$"
    r"|NET/(\w+)\s*:\s*Using \[0\])"
)
_REASONS = (
    (re.compile(r"not enough slots available"), "mpirun has fewer slots than requested processes"),
    (re.compile(r"Invalid number of GPUs.*"), ""),
    (re.compile(r"Test NCCL failure.*"), ""),
    (re.compile(r"Test CUDA failure.*"), ""),
    (re.compile(r"error while loading shared libraries.*"), ""),
    (re.compile(r"ssh: .*"), ""),
    (re.compile(r"(?:mpirun|prterun) noticed that process .*"), ""),
    (re.compile(r"(?:mpirun|ORTE|PRTE) (?:was unable to|has lost) .*"), ""),
    (re.compile(r"(?:srun|slurmstepd): error: .*"), ""),
    (re.compile(r"(?:mpirun|prterun) detected that .*"), ""),
)
LONGEST_REASON = 300


def network_of(line: str) -> str:
    """The network plugin that a line of NCCL's log names."""
    found = _NETWORK.search(line)
    return str(found[1] or found[2] or found[3]) if found else ""


def network_among(notes: Iterable[str]) -> str:
    """The plugin over all ranks: one rank that fell back to TCP slows all of them."""
    named = [one for one in notes if one]
    return SOCKET if SOCKET in named else named[0] if named else ""


def parse(text: str) -> Sweep:
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        return nccl_tests_json.parse(text)
    lines = [_ESCAPE.sub("", line) for line in text.splitlines()]
    rows = tuple(nccl_tests_table.rows(lines))
    ranks = [found for line in lines if (found := _RANK.search(line))]
    average = _first(_AVERAGE, lines)
    figure = number(average)
    return Sweep(
        rows=rows,
        operation=operation_of(text, rows),
        ranks=len({found[1] for found in ranks}),
        hosts=tuple(dict.fromkeys(found[2] for found in ranks)),
        model=ranks[0][3] if ranks else "",
        network=network_among(map(network_of, lines)),
        average_busbw_bytes_per_second=None if figure is None else figure * GIGABYTE,
        complete=bool(average),
        damage=damage(number(_first(_OUT_OF_BOUNDS, lines)), number(_first(_OTHER_BITS, lines))),
        trouble=_trouble(lines, rows, bool(average)),
    )


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    return next((found[1] for line in lines if (found := pattern.search(line))), None)


def _trouble(lines: Sequence[str], rows: Sequence[NcclTestRow], complete: bool) -> str:
    if complete and rows:
        return ""
    for pattern, words in _REASONS:
        if found := next(filter(None, map(pattern.search, lines)), None):
            return words or found[0].strip()[:LONGEST_REASON]
    return f"the output breaks off after {rows[-1].bytes} bytes" if rows else NO_ROW
