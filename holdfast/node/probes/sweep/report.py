"""What a probe found, in the shape of its JSON document."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, pstdev
from typing import Any

from holdfast.node.probes.isolation.isolation import Measured, Suspect
from holdfast.node.probes.sweep.sizes import bus_share


@dataclass(frozen=True, slots=True)
class SweepRow:
    bytes: int
    p50_seconds: float
    p95_seconds: float
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    correct: bool | None  # None: not compared
    variation_ratio: float | None = None  # the deviation of the times as a share of their mean
    wrong_ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    kind: str  # node, pair, trunk, leaf, uplinks, rail, rank
    confidence: float
    evidence: tuple[str, ...]


@dataclass(slots=True)
class Report:
    hosts: list[str] = field(default_factory=list)
    operation: str = "all_reduce"
    sweep: list[SweepRow] = field(default_factory=list)
    stopped: str = ""
    pairs: list[dict[str, Any]] = field(default_factory=list)
    suspects: list[Finding] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    judgement: list[dict[str, Any]] = field(default_factory=list)  # of the sweep as a whole, by regime
    ranks: int = 0
    gpu_model: str = ""
    network: str = ""  # the plugin that NCCL chose: IB, Socket, ...
    code_paths: list[str] = field(default_factory=list)  # of a slow band, with NCCL_ALGO and NCCL_PROTO pinned


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


def finding(suspect: Suspect, measured: Sequence[Measured]) -> Finding:
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
    return Finding(suspect.part, kind, round(suspect.confidence, 4), tuple(evidence))
