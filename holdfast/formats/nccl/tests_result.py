"""Result of nccl-tests in any layout: one row per payload size, participants, and the outcome."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

MICROSECOND, GIGABYTE = 1e-6, 1e9
NO_ROW = "no row of a result table was found"
_LARGEST = 1e18
_PROGRAM = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoallv?|sendrecv|broadcast|reduce|gather|scatter)_perf"
)
_OPERATIONS = {"alltoall": "all_to_all", "alltoallv": "all_to_all_v", "sendrecv": "send_recv"}


@dataclass(frozen=True, slots=True)
class NcclTestRow:
    bytes: int
    seconds: float  # mean of all iterations
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    wrong: int | None  # None: not validated
    p50_seconds: float | None = None  # these three only if every iteration was timed
    p95_seconds: float | None = None
    variation: float | None = None  # standard deviation as a share of the mean
    reduces: bool = False
    rooted: bool = False  # one rank is the root: its number is not -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    rows: tuple[NcclTestRow, ...] = ()
    operation: str = ""  # all_reduce, all_to_all ...; '' if unknown
    ranks: int = 0
    hosts: tuple[str, ...] = ()
    model: str = ""
    network: str = ""  # plugin that NCCL chose: IB, Socket, AWS Libfabric ...
    average_busbw_bytes_per_second: float | None = None
    complete: bool = False
    damage: str = ""  # errors that the tool itself found in the data, '' without any
    trouble: str = ""  # why rows are missing, '' if none are


def number(value: object) -> float | None:
    """A finite number of plausible size, from a word of a table or from JSON."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        figure = float(value)
    except (ValueError, OverflowError):
        return None
    return figure if math.isfinite(figure) and 0.0 <= figure < _LARGEST else None


def operation_of(text: str, rows: Sequence[NcclTestRow]) -> str:
    """The operation, by the name of the program.

    Otherwise by the columns: a reduction with a root is a reduce, and only an all-reduce moves as much over the bus as
    it reduces, or more.
    """
    if named := _PROGRAM.search(text):
        return _OPERATIONS.get(named[1], named[1])
    top = max(rows, key=lambda row: row.bytes, default=None)
    if top is None or not top.reduces or not 0.0 < top.algbw_bytes_per_second <= top.busbw_bytes_per_second:
        return ""
    return "reduce" if top.rooted else "all_reduce"


def damage(out_of_bounds: float | None, other_bits: float | None) -> str:
    notes = []
    if out_of_bounds:
        notes.append(f"{out_of_bounds:.0f} values out of bounds")
    if other_bits:
        notes.append(f"{other_bits:.0f} results with other bits when repeated")
    return " and ".join(notes)
