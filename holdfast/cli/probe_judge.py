"""A sweep before its judges: what was measured as signals, the checks of a sweep, and nccl-tests as another hand."""

import os
import subprocess
from pathlib import Path

from holdfast import checks
from holdfast.catalog.fabrics import fabrics
from holdfast.cli.refusal import Refusal
from holdfast.formats import nccl_tests
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node
from holdfast.model.verdict import Verdict
from holdfast.probes.report import Report, SweepRow

RUN_SECONDS = 1800.0
MOST_BYTES = 64 << 20


def judged(rows: list[SweepRow], fabric: str, gpu: str, network: str) -> list[Verdict]:
    """The verdicts of a sweep. `fabric` names limits of the catalog; else the GPU model does; else none are known."""
    if fabric and fabric not in fabrics():
        raise Refusal(f"--fabric: expected one of {', '.join(fabrics())}, found {fabric!r}")
    about = node("sweep")
    signals = [Signal(about, "sweep_fabric", fabric), Signal(about, "gpu_model", gpu)]
    signals.append(Signal(about, "sweep_network", network))
    for row in rows:
        size = f"{about}/size/{row.bytes}"
        signals.append(Signal(size, "sweep_busbw_bytes_per_second", row.busbw_bytes_per_second))
        signals.append(Signal(size, "sweep_p95_seconds", row.p95_seconds))
    history = History("sweep")
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return [checks.BY_NAME[name](history.window(0.0, 600.0)) for name in checks.OF_A_SWEEP]


def from_nccl_tests(path: str, fabric: str) -> Report:
    """A file with its output, or the binary itself, which is then run on this node's GPUs."""
    found = nccl_tests.parse(_output(path))
    report = Report(hosts=list(found.hosts), operation="nccl-tests")
    report.stopped = found.trouble
    report.sweep = [
        SweepRow(
            row.bytes,
            row.seconds,
            row.seconds if row.p95_seconds is None else row.p95_seconds,  # the table has means only
            row.algbw_bytes_per_second,
            row.busbw_bytes_per_second,
            not row.wrong,
        )
        for row in found.rows
        if row.bytes
    ]
    report.judgement = [one.as_json() for one in judged(report.sweep, fabric, found.model, found.network)]
    if not found.rows:
        report.verdicts = [{"subject": node("sweep"), "health": "unknown", "reason": f"set-up failed: {found.trouble}"}]
    return report


def _output(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
            rest = b"" if start == b"\x7fELF" or _runs(path, start) else file.read(MOST_BYTES)
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    if rest or not (start == b"\x7fELF" or _runs(path, start)):
        return (start + rest).decode(errors="replace")
    words = [os.path.abspath(path), "-b", "8", "-e", "2G", "-f", "2", "-g", "1"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=RUN_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"{path}: cannot be run: {error}") from None
    return done.stdout + "\n" + done.stderr


def _runs(path: str, start: bytes) -> bool:
    return start.startswith(b"#!") and os.access(path, os.X_OK)
