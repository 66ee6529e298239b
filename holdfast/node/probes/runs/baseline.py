"""Past sweeps of this cluster: read before a sweep is evaluated, extended by a healthy one."""

import time
from collections.abc import Mapping

from holdfast.model.refusal import Refusal
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.probes.sweep import code_paths
from holdfast.node.probes.sweep import history as sweep_past
from holdfast.node.probes.sweep.history import Past


def known_past(report: SweepReport, backend: str, baseline: str) -> Mapping[int, Past] | None:
    if not baseline:
        return None
    try:
        return sweep_past.learn(sweep_past.load(baseline, _kind(report, backend)))
    except OSError as error:
        raise Refusal(f"--baseline {baseline}: cannot be read: {error.strerror}") from None


def add(report: SweepReport, backend: str, baseline: str) -> None:
    """Adds a run if it is healthy: a slow one must not become the baseline."""
    unwell = {one["health"] for one in report.sweep_verdicts} & {"fail", "degraded"}
    broken = report.suspects or any(row.correct is False for row in report.sweep)
    broken = broken or any(one["health"] != "pass" for one in report.verdicts)
    if not baseline or unwell or broken or not report.sweep:
        return
    try:
        sweep_past.append(baseline, _kind(report, backend), code_paths.rates(report.sweep), time.time())
    except OSError as error:
        raise Refusal(f"--baseline {baseline}: cannot be written: {error.strerror}") from None


def _kind(report: SweepReport, backend: str) -> str:
    return sweep_past.key(report.operation, backend, len(report.hosts))
