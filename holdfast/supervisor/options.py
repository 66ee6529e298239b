"""Options of a supervisor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.supervisor.decide import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    command: tuple[str, ...]
    node: str
    folder: Path
    budget: Budget = field(default_factory=Budget)
    hang_factor: float = 5.0  # times the longest gap between progress lines
    hang_floor_seconds: float = 60.0
    presumed_floor_seconds: float = 7.5  # of silence after a presumed loss: no transport in use gives up sooner
    grace_seconds: float = 10.0  # between asking processes to end and killing them
    storage_timeout_seconds: float = 3600.0
    kernel_log: str = "/dev/kmsg"
    verdict_file: str = "/run/holdfast/verdict.json"  # of this node's agent, where one runs
    sys: str = "/sys"
    nvml: str = ""  # the NVIDIA driver library, where it is not the system's
    probe: tuple[str, ...] = ()  # the command that proves this node; empty: no probe
    probe_timeout_seconds: float = 900.0
    environ: Mapping[str, str] = field(default_factory=dict)  # for the command, where it is not set already
