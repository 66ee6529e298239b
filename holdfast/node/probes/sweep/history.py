"""Past results of a cluster's sweeps, one JSON line per run, with their trimmed mean and spread at every size."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

MOST_RUNS = 200
TRIM_SPREADS = 2.5
ROUNDING = 1e-9  # values within this difference are equal


@dataclass(frozen=True, slots=True)
class Past:
    bytes_per_second: float  # the trimmed geometric mean
    spread: float  # of the logarithm: 0.1 is ten per cent
    runs: int


def key(operation: str, backend: str, world: int) -> str:
    """The key of comparable runs."""
    return f"{operation} {backend} {world}"


def load(path: str, of: str) -> list[dict[int, float]]:
    """Past runs of this kind, oldest first. Damaged or foreign lines are skipped; a missing file means no history."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return []
    return [run for line in lines if (run := _run(line, of))][-MOST_RUNS:]


def _run(line: str, of: str) -> dict[int, float]:
    try:
        record = json.loads(line)
        if not isinstance(record, dict) or record.get("of") != of:
            return {}
        return {int(size): float(rate) for size, rate in record["rates"].items() if 0 < float(rate) < math.inf}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def append(path: str, of: str, rates: Mapping[int, float], now: float) -> None:
    line = json.dumps({"at": round(now, 3), "of": of, "rates": {str(size): rate for size, rate in rates.items()}})
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def learn(runs: Sequence[Mapping[int, float]]) -> dict[int, Past]:
    sizes = sorted({size for run in runs for size in run})
    return {size: _trimmed([run[size] for run in runs if size in run]) for size in sizes}


def _trimmed(rates: Sequence[float]) -> Past:
    """Drops outliers until none is left, so that a few bad days do not lower the baseline."""
    kept = sorted(math.log(rate) for rate in rates)
    while len(kept) > 2:
        centre, spread = fmean(kept), pstdev(kept)
        inside = [one for one in kept if abs(one - centre) <= TRIM_SPREADS * spread + ROUNDING]
        if len(inside) == len(kept):
            break
        kept = inside
    return Past(math.exp(fmean(kept)), pstdev(kept), len(kept))
