"""What a probe found, in the shape of its JSON document."""

from collections.abc import Sequence
from statistics import fmean, median, pstdev
from typing import Any

from holdfast.model.wire.sweep import SweepFinding, SweepRow
from holdfast.node.probes.isolation.isolation import Measured, Suspect
from holdfast.node.probes.sweep.sizes import bus_share


def sweep_rows(answers: Sequence[dict[str, Any]], operation: str) -> list[SweepRow]:
    """The slowest rank counts: a collective is over when it is over everywhere."""
    world = len(answers)
    rows = []
    for same_size in zip(*(answer.get("rows", []) for answer in answers), strict=False):
        size = int(same_size[0]["bytes"])
        p50 = max(median(row["seconds"]) for row in same_size)
        p95 = max(_percentile(row["seconds"], 0.95) for row in same_size)
        wrong = {int(rank) for row in same_size for rank in row.get("wrong_ranks", [])}
        rate = size / p50 if p50 > 0 else 0.0
        correct = not any(row["wrong"] for row in same_size)
        bus, varied = rate * bus_share(operation, world), max(_variation(row["seconds"]) for row in same_size)
        rows.append(SweepRow(size, p50, p95, rate, bus, correct, varied, tuple(sorted(wrong))))
    return rows


def _variation(seconds: Sequence[float]) -> float:
    mean = fmean(seconds)
    return pstdev(seconds) / mean if mean > 0 else 0.0


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def finding(suspect: Suspect, measured: Sequence[Measured]) -> SweepFinding:
    kind = suspect.part.partition("/")[0]
    evidence = [
        f"{suspect.slow} of {suspect.measured} measurements over it are slow,"
        f" {100 * suspect.loss:.0f} % below the others"
    ]
    _, _, rail = suspect.part.rpartition("rail/")
    for one, other in suspect.evidence[:4]:
        met = [m for m in measured if {m.one, m.other} == {one, other}]
        rates = [m.bytes_per_second for m in met if "rail/" not in suspect.part or m.rail == rail]
        evidence.append(f"{one} with {other}: {median(rates) / 1e6:.1f} MB/s")
    return SweepFinding(suspect.part, kind, round(suspect.confidence, 4), tuple(evidence))
