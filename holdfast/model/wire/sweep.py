"""Sweep report: what `holdfast probe run --json` prints and the leading agent sends."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SweepRow:
    bytes: int
    p50_seconds: float
    p95_seconds: float
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    correct: bool | None  # None: not compared
    variation_ratio: float | None = None  # standard deviation of the times, relative to their mean
    wrong_ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepFinding:
    subject: str
    kind: str  # node, pair, trunk, leaf, uplinks, rail, rank
    confidence: float
    evidence: tuple[str, ...]
    cause: str = ""  # packet loss, MTU mismatch, busy CPU, slow sending, bandwidth, latency, wrong numbers, ...


@dataclass(slots=True)
class SweepReport:
    hosts: list[str] = field(default_factory=list)
    operation: str = "all_reduce"
    sweep: list[SweepRow] = field(default_factory=list)
    stopped: str = ""
    pairs: list[dict[str, Any]] = field(default_factory=list)
    suspects: list[SweepFinding] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    sweep_verdicts: list[dict[str, Any]] = field(default_factory=list)  # verdicts of the whole sweep, by regime
    ranks: int = 0
    gpu_model: str = ""
    network: str = ""  # the plugin that NCCL chose: IB, Socket, ...
    references: list[dict[str, Any]] = field(default_factory=list)  # reference values for hosts and pairs, by band
    # code paths of a slow band, measured with NCCL_ALGO and NCCL_PROTO fixed
    code_paths: list[str] = field(default_factory=list)
