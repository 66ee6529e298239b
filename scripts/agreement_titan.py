"""Titan's published counts beside what the lifetimes at hand support. A copy with a share of the serial numbers is
compared by that share, and the tolerance is what drawing so many by chance allows (three standard errors)."""

import sys
from math import sqrt
from pathlib import Path

from agreement import Row

from holdfast.economics.costs.lifetimes import Lifetime, fit_weibull, kaplan_meier, observed_rate, surviving

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

import titan

SERIALS = 30_207
YEAR = 365.25 * 86_400
SOURCE = "olcf/TitanGPULife, SC'20"


def available() -> bool:
    return titan.available()


def rows() -> list[Row]:
    gpus, faults = titan.load()
    part = len(gpus) / SERIALS
    per_gpu: dict[str, int] = {}
    for fault in faults:
        per_gpu[fault.gpu] = per_gpu.get(fault.gpu, 0) + 1
    died = sum(gpu.died is not None for gpu in gpus.values())
    counts = {
        "GPUs that died": (5089, died),
        "GPUs with an error": (5190, len(per_gpu)),
        "GPUs with more than one": (551, sum(count > 1 for count in per_gpu.values())),
    }
    found = [
        Row(f"Titan: {what}, scaled from {part:.1%} of the serials", whole, seen / part, _allowed(whole * part, part),
            SOURCE, ",.0f", f"{seen:,} in the data at hand")
        for what, (whole, seen) in counts.items()
    ]  # fmt: skip
    return found + _between(gpus, faults, part) + _lifetimes(gpus, part)


def _allowed(expected: float, part: float) -> float:
    """Three standard errors of a count that is drawn without replacement; a thousandth on the whole."""
    return max(1e-3, 3 * sqrt((1 - part) / expected)) if part < 1 else 1e-3


def _between(gpus: dict[str, titan.Gpu], faults: list[titan.Fault], part: float) -> list[Row]:
    found = []
    for name, begin, end, batch, published in (
        ("2015-Q4", "2015-10-01", "2016-01-01", "", 7.71),
        ("2018-Q4, old batch", "2018-10-01", "2019-01-01", "old", 7.8),
        ("2018-Q4, new batch", "2018-10-01", "2019-01-01", "new", 96.1),
        ("2019-Q1", "2019-01-01", "2019-04-01", "", 5.88),
    ):
        low, high = titan.moment(f"{begin} 00:00:00"), titan.moment(f"{end} 00:00:00")
        times = [f.at for f in faults if low <= f.at < high and batch in ("", gpus[f.gpu].batch)]
        hours = (times[-1] - times[0]) / (len(times) - 1) / 3600
        found.append(
            Row(f"Titan: hours between errors, {name}, scaled", published, hours * part, _allowed(len(times), part),
                SOURCE, ".2f", f"{len(times)} errors in the data at hand")
        )  # fmt: skip
    return found


def _lifetimes(gpus: dict[str, titan.Gpu], part: float) -> list[Row]:
    of = {
        batch: [Lifetime(gpu.seconds / YEAR, gpu.died is not None) for gpu in gpus.values() if gpu.batch == batch]
        for batch in ("old", "new")
    }
    old, new = observed_rate(of["old"]), observed_rate(of["new"])
    steps = kaplan_meier(of["old"])
    note = "computed separately on the whole data; the authors print no such figure"
    return [
        Row("Titan: deaths per GPU-year, old batch", 0.0664, old.rate, _allowed(old.events, part), note),
        Row("Titan: deaths per GPU-year, new batch", 0.0025, new.rate, _allowed(new.events, part), note),
        Row("Titan: survival to 3 years, old batch", 0.877, surviving(steps, 3), 0.01, note),
        Row("Titan: survival to 5 years, old batch", 0.677, surviving(steps, 5), 0.02, note),
        Row("Titan: Weibull shape, old batch", 2.64, fit_weibull(of["old"]).shape, 0.03, note, ".3f",
            "a defect that came with the years, not a law of ageing: never a default"),
    ]  # fmt: skip
