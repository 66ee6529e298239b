"""A sweep before its judges: what was measured as signals, the checks of a sweep, and nccl-tests as another hand."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast import checks
from holdfast.catalog.fabrics import fabrics
from holdfast.checks import sweep_baseline, sweep_facts, sweep_steps
from holdfast.checks.sweep_facts import RATE, by_size
from holdfast.cli.refusal import Refusal
from holdfast.formats import nccl_tests
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.probes import code_paths, sweep_past
from holdfast.probes.report import Report, SweepRow
from holdfast.probes.sweep_past import Past

RUN_SECONDS = 1800.0
MOST_BYTES = 64 << 20
ROUNDED_BYTES_PER_SECOND = 1e9  # below it two decimals of GB/s say too little


def judged(report: Report, fabric: str, past: Mapping[int, Past] | None) -> list[Verdict]:
    """The verdicts of a sweep. `fabric` names limits of the catalog; else the GPU model does; else none are known."""
    window = _window(report, fabric, past)
    return [checks.BY_NAME[name](window) for name in _asked(past)]


def _asked(past: Mapping[int, Past] | None) -> list[str]:
    """Who keeps no past is not told that it is unknown."""
    return [name for name in checks.OF_A_SWEEP if past is not None or name != sweep_baseline.CHECK.name]


def slow_band(report: Report, fabric: str, past: Mapping[int, Past] | None) -> list[int]:
    """The sizes that a failing check means; a few of them, for each is run again on every code path."""
    window = _window(report, fabric, past)
    bad = {name for name in _asked(past) if checks.BY_NAME[name](window).health in (Health.FAIL, Health.DEGRADED)}
    rates, limits = by_size(window, RATE), checks.BY_NAME
    known = sweep_facts.fabric(window)
    sizes: list[int] = []
    if "sweep.steps" in bad:
        sizes += sweep_steps.valley(rates, limits["sweep.steps"].limits)
    if "sweep.baseline" in bad:
        sizes += sweep_baseline.slow_sizes(window, limits["sweep.baseline"].limits)
    if known and "sweep.latency" in bad:
        sizes.append(known.small_bytes)
    if known and "sweep.bandwidth" in bad:
        sizes.append(known.large_bytes)
    return code_paths.few([size for size in sizes if size in rates])


def _window(report: Report, fabric: str, past: Mapping[int, Past] | None) -> Window:
    if fabric and fabric not in fabrics():
        raise Refusal(f"--fabric: expected one of {', '.join(fabrics())}, found {fabric!r}")
    about = node("sweep")
    signals = [Signal(about, "sweep_fabric", fabric), Signal(about, "gpu_model", report.gpu_model)]
    signals.append(Signal(about, "sweep_network", report.network))
    for row in report.sweep:
        size = f"{about}/size/{row.bytes}"
        signals.append(Signal(size, "sweep_busbw_bytes_per_second", row.busbw_bytes_per_second))
        signals.append(Signal(size, "sweep_p95_seconds", row.p95_seconds))
        if known := (past or {}).get(row.bytes):
            signals.append(Signal(size, sweep_baseline.PAST, known.bytes_per_second))
            signals.append(Signal(size, sweep_baseline.SPREAD, known.spread))
            signals.append(Signal(size, sweep_baseline.RUNS, float(known.runs)))
    history = History("sweep")
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 600.0)


def from_nccl_tests(path: str, fabric: str, baseline: str) -> Report:
    """A file with its output, or the binary itself, which is then run on this node's GPUs."""
    found = nccl_tests.parse(_output(path, {}))
    report = Report(hosts=list(found.hosts), operation="nccl-tests", gpu_model=found.model, network=found.network)
    report.stopped = found.trouble
    report.sweep = _rows(found)
    past = known_past(report, "nccl", baseline)
    report.judgement = [one.as_json() for one in judged(report, fabric, past)]
    if _is_program(path) and (band := slow_band(report, fabric, past)):
        report.code_paths = _pinned(path, band, report)
    if not found.rows:
        report.verdicts = [{"subject": node("sweep"), "health": "unknown", "reason": f"set-up failed: {found.trouble}"}]
    remember(report, "nccl", baseline)
    return report


def known_past(report: Report, backend: str, baseline: str) -> Mapping[int, Past] | None:
    if not baseline:
        return None
    try:
        return sweep_past.learn(sweep_past.load(baseline, _kind(report, backend)))
    except OSError as error:
        raise Refusal(f"--baseline {baseline}: cannot be read: {error.strerror}") from None


def remember(report: Report, backend: str, baseline: str) -> None:
    """A run that nobody complains about becomes part of the past; a slow one must not become what is usual."""
    unwell = {one["health"] for one in report.judgement} & {"fail", "degraded"}
    if not baseline or unwell or report.suspects or not report.sweep or not all(row.correct for row in report.sweep):
        return
    try:
        sweep_past.append(baseline, _kind(report, backend), code_paths.rates(report.sweep), time.time())
    except OSError as error:
        raise Refusal(f"--baseline {baseline}: cannot be written: {error.strerror}") from None


def _kind(report: Report, backend: str) -> str:
    return sweep_past.key(report.operation, backend, len(report.hosts))


def _rows(found: nccl_tests.Sweep) -> list[SweepRow]:
    rows = [row for row in found.rows if row.bytes]
    top = max(rows, key=lambda row: row.algbw_bytes_per_second, default=None)
    share = top.busbw_bytes_per_second / top.algbw_bytes_per_second if top and top.algbw_bytes_per_second else 1.0
    return [_row(row, share) for row in rows]


def _row(row: nccl_tests.Row, bus_share: float) -> SweepRow:
    """The table rounds the rates of small messages to nothing; their times are exact enough."""
    algorithm, bus = row.algbw_bytes_per_second, row.busbw_bytes_per_second
    if bus < ROUNDED_BYTES_PER_SECOND and row.seconds > 0:
        algorithm = row.bytes / row.seconds
        bus = algorithm * bus_share
    late = row.seconds if row.p95_seconds is None else row.p95_seconds  # the table has means only
    return SweepRow(row.bytes, row.seconds, late, algorithm, bus, not row.wrong)


def _pinned(path: str, band: Sequence[int], report: Report) -> list[str]:
    pinned = {}
    for algorithm, protocol in code_paths.PATHS:
        output = _output(path, code_paths.environment(algorithm, protocol))
        pinned[code_paths.path_name(algorithm, protocol)] = code_paths.rates(_rows(nccl_tests.parse(output)))
    chosen = {size: rate for size, rate in code_paths.rates(report.sweep).items() if size in band}
    return code_paths.named(chosen, pinned)


def _output(path: str, environment: Mapping[str, str]) -> str:
    if not _is_program(path):
        try:
            with Path(path).open("rb") as file:
                return file.read(MOST_BYTES).decode(errors="replace")
        except OSError as error:
            raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    words = [os.path.abspath(path), "-b", "8", "-e", "2G", "-f", "2", "-g", "1"]
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=RUN_SECONDS,
            check=False,
            env={**os.environ, **environment},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refusal(f"{path}: cannot be run: {error}") from None
    return done.stdout + "\n" + done.stderr


def _is_program(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}") from None
    return start == b"\x7fELF" or (start.startswith(b"#!") and os.access(path, os.X_OK))
