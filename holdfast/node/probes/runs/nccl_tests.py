"""nccl-tests as the driver of a sweep: a file with its output, its binary run here, or a command for many nodes."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.formats.nccl import tests as nccl_tests
from holdfast.model.refusal import Refusal
from holdfast.model.subject import node
from holdfast.model.wire.sweep import SweepReport, SweepRow
from holdfast.node.agent.sweep_judge import judged, slow_band
from holdfast.node.probes.runs.baseline import add, known_past
from holdfast.node.probes.sweep import code_paths

RUN_SECONDS = 1800.0
MOST_BYTES = 64 << 20
ROUNDED_BYTES_PER_SECOND = 1e9  # below this, two decimals of GB/s are too imprecise
SIZES = ("-b", "8", "-e", "2G", "-f", "2")
DRIVERS_GPUS = "/proc/driver/nvidia/gpus"
ALONE = "set-up failed: there is only one rank; give the program more GPUs (-g) or start more processes"
WHICH_RANK = "nccl-tests does not say which rank; `holdfast probe run --backend nccl` does"


def from_nccl_tests(given: str, fabric: str, baseline: str) -> SweepReport:
    command = _command(given)
    found = nccl_tests.parse(_run(command, {}) if command else _read(given))
    report = SweepReport(
        hosts=list(found.hosts), operation=found.operation, gpu_model=found.model, network=found.network
    )
    report.ranks = found.ranks
    report.stopped = found.trouble
    report.sweep = _rows(found)
    report.verdicts = _verdicts(found)
    past = known_past(report, "nccl", baseline)
    report.sweep_verdicts = [one.as_json() for one in judged(report, fabric, past)]
    if command and (band := slow_band(report, fabric, past)):
        report.code_paths = _pinned(command, band, report)
    add(report, "nccl", baseline)
    return report


def _verdicts(found: nccl_tests.Sweep) -> list[dict[str, Any]]:
    """Faults that the rows alone do not show: too few rows, or wrong numbers that the tool found."""
    wrong = [row.bytes for row in found.rows if row.wrong]
    if wrong or found.damage:
        where = f"at {', '.join(map(str, wrong[:4]))}{' ...' * (len(wrong) > 4)} bytes" if wrong else ""
        text = ": ".join(filter(None, ("wrong numbers", ", ".join(filter(None, (found.damage, where))))))
        return [_verdict("fail", f"{text}; {WHICH_RANK}")]
    if not found.rows:
        return [_verdict("unknown", f"set-up failed: {found.trouble}")]
    if found.ranks == 1:
        return [_verdict("unknown", ALONE)]
    return [_verdict("unknown", f"not judged in full: {found.trouble}")] if found.trouble else []


def _verdict(health: str, reason: str) -> dict[str, Any]:
    return {"subject": node("sweep"), "health": health, "reason": reason}


def _rows(found: nccl_tests.Sweep) -> list[SweepRow]:
    rows = [row for row in found.rows if row.bytes]
    top = max(rows, key=lambda row: row.algbw_bytes_per_second, default=None)
    share = top.busbw_bytes_per_second / top.algbw_bytes_per_second if top and top.algbw_bytes_per_second else 1.0
    return [_row(row, share) for row in rows]


def _row(row: nccl_tests.NcclTestRow, bus_share: float) -> SweepRow:
    """A row. The table rounds the rates of small messages to zero, but their times are exact enough. It has only
    means, which are used for both percentiles."""
    algorithm, bus = row.algbw_bytes_per_second, row.busbw_bytes_per_second
    if bus < ROUNDED_BYTES_PER_SECOND and row.seconds > 0:
        algorithm = row.bytes / row.seconds
        bus = algorithm * bus_share
    return SweepRow(
        bytes=row.bytes,
        p50_seconds=row.seconds if row.p50_seconds is None else row.p50_seconds,
        p95_seconds=row.seconds if row.p95_seconds is None else row.p95_seconds,
        algbw_bytes_per_second=algorithm,
        busbw_bytes_per_second=bus,
        correct=None if row.wrong is None else not row.wrong,
        variation_ratio=row.variation,
    )


def _pinned(command: Sequence[str], band: Sequence[int], report: SweepReport) -> list[str]:
    pinned = {}
    for algorithm, protocol in code_paths.PATHS:
        output = _run(command, code_paths.environment(algorithm, protocol))
        pinned[code_paths.path_name(algorithm, protocol)] = code_paths.rates(_rows(nccl_tests.parse(output)))
    chosen = {size: rate for size, rate in code_paths.rates(report.sweep).items() if size in band}
    return code_paths.named(chosen, pinned)


def _command(given: str) -> list[str]:
    """The command to run; empty for a file with output. Adds our sizes where the command names none."""
    if os.path.exists(given):
        return [os.path.abspath(given), *SIZES, "-g", str(_gpus_here())] if _is_program(given) else []
    try:
        found = shlex.split(given)
    except ValueError as error:
        raise Refusal(f"--nccl-tests: {error}, in {given!r}") from None
    if len(found) < 2 or shutil.which(found[0]) is None:
        raise Refusal(f"--nccl-tests: expected a file, a program or a command with arguments, found {given!r}")
    return found if "-e" in found else [*found, *SIZES]


def _gpus_here() -> int:
    """Number of GPUs that the program may see; its default is one."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return max(1, len([one for one in visible.split(",") if one.strip()]))
    try:
        return max(1, len(os.listdir(DRIVERS_GPUS)))
    except OSError:
        return 1


def _read(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None


def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            _with_environment(command, environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"{command[0]}: cannot be run: {error}") from None
    return done.stdout + "\n" + done.stderr


def _with_environment(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Sets variables at the start of the program, because mpirun does not pass them on by default."""
    settings = ["env", *(f"{name}={value}" for name, value in environment.items())] if environment else []
    place = next((i for i, word in enumerate(command) if "_perf" in os.path.basename(word)), 0)
    return [*command[:place], *settings, *command[place:]]


def _is_program(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    return start == b"\x7fELF" or (start.startswith(b"#!") and os.access(path, os.X_OK))
