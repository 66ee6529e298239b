"""The lifetimes of Titan's GPUs: where each was when, its memory and bus errors, and when it was taken out for good."""

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

DATA = Path(os.environ.get("HOLDFAST_REAL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "lifetimes"
_LOCATION = re.compile(r"(c\d+-\d+)(c\d)s\d(n\d)")


@dataclass(frozen=True, slots=True)
class Stay:
    """A GPU in one node from one time to another."""

    node: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Fault:
    at: float
    gpu: str
    node: str
    cause: str  # DBE: an uncorrectable memory error; OTB: fallen off the bus


@dataclass(slots=True)
class Gpu:
    batch: str
    seconds: float
    died: float | None  # None: alive, or taken out for another reason
    last: float
    stays: list[Stay] = field(default_factory=list)


def available() -> bool:
    return (DATA / "titan_gc_full.csv").is_file()


def moment(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


@cache
def places(node: str) -> dict[str, str]:
    """What a node shares with others. A cabinet has three cages, one above the other; the air warms on its way up."""
    found = _LOCATION.fullmatch(node)
    if found is None:
        raise ValueError(f"{node!r} is not a Titan location such as c11-2c1s4n1")
    cabinet, level, position = found.groups()
    return {"cabinet": cabinet, "cage": cabinet + level, "level": level, "position": position}


def load() -> tuple[dict[str, Gpu], list[Fault]]:
    """Every GPU by serial number, and all faults in order of time."""
    gpus = {}
    for row in _rows("titan_gc_summary_loc_1.csv", "titan_gc_summary_loc_2.csv"):
        last = moment(row["last"])
        died = last if row["dead"] == "TRUE" else None
        gpus[row["SN"]] = Gpu(row["batch"], float(row["time"]), died, last)
    faults = []
    for row in _rows("titan_gc_full.csv"):
        if row["event"]:
            faults.append(Fault(moment(row["remove"]), row["SN"], row["location"], row["event"]))
        if row["insert"]:
            gpus[row["SN"]].stays.append(Stay(row["location"], moment(row["insert"]), moment(row["remove"])))
    return gpus, sorted(faults, key=lambda fault: fault.at)


def _rows(*names: str) -> Iterator[dict[str, str]]:
    for name in names:
        with (DATA / name).open(newline="") as lines:
            yield from csv.DictReader(lines)
