"""Evaluates a sweep: measurements as signals, and the checks of a sweep."""

from collections.abc import Mapping

from holdfast.catalog.fabrics import fabrics
from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import node
from holdfast.model.verdict import Verdict
from holdfast.model.window import Window
from holdfast.model.wire.sweep import SweepReport
from holdfast.node import checks
from holdfast.node.checks.sweep import baseline as sweep_baseline
from holdfast.node.checks.sweep import facts as sweep_facts
from holdfast.node.checks.sweep import steps as sweep_steps
from holdfast.node.checks.sweep.facts import RATE, VARIATION, by_size
from holdfast.node.probes.sweep import code_paths
from holdfast.node.probes.sweep.history import Past


class UnknownFabric(ValueError):
    """The catalog has no such fabric."""


def judged(report: SweepReport, fabric: str, past: Mapping[int, Past] | None) -> list[Verdict]:
    """The verdicts of a sweep. `fabric` names limits of the catalog; else the GPU model does; else none are known."""
    window = _window(report, fabric, past)
    return [checks.BY_NAME[name](window) for name in _asked(past)]


def _asked(past: Mapping[int, Past] | None) -> list[str]:
    """The checks to evaluate. Without a configured baseline file, a missing baseline is not reported as unknown."""
    return [name for name in checks.OF_A_SWEEP if past is not None or name != sweep_baseline.CHECK.name]


def slow_band(report: SweepReport, fabric: str, past: Mapping[int, Past] | None) -> list[int]:
    """Some of the sizes that a check failed at; each is measured again on every code path."""
    window = _window(report, fabric, past)
    bad = {name for name in _asked(past) if checks.BY_NAME[name](window).health in (Health.FAIL, Health.DEGRADED)}
    rates, limits = by_size(window, RATE), checks.BY_NAME
    known = sweep_facts.fabric(window)
    sizes: list[int] = []
    if "sweep.steps" in bad:
        sizes += sweep_steps.valley(rates, by_size(window, VARIATION), limits["sweep.steps"].limits)
    if "sweep.baseline" in bad:
        sizes += sweep_baseline.slow_sizes(window, limits["sweep.baseline"].limits)
    if known and "sweep.latency" in bad:
        sizes.append(known.small_bytes)
    if known and "sweep.bandwidth" in bad:
        sizes.append(known.large_bytes)
    return code_paths.few([size for size in sizes if size in rates])


def require_known(fabric: str) -> None:
    if fabric and fabric not in fabrics():
        raise UnknownFabric(f"expected one of {', '.join(fabrics())}, found {fabric!r}")


def _window(report: SweepReport, fabric: str, past: Mapping[int, Past] | None) -> Window:
    require_known(fabric)
    about = node("sweep")
    signals = [Signal(about, "sweep_fabric", fabric), Signal(about, "gpu_model", report.gpu_model)]
    signals.append(Signal(about, "sweep_network", report.network))
    signals.append(Signal(about, "sweep_operation", report.operation))
    signals.append(Signal(about, "sweep_hosts", float(len(report.hosts))))
    signals.append(Signal(about, "sweep_ranks", float(report.ranks)))
    for row in report.sweep:
        size = f"{about}/size/{row.bytes}"
        signals.append(Signal(size, "sweep_busbw_bytes_per_second", row.busbw_bytes_per_second))
        signals.append(Signal(size, "sweep_p95_seconds", row.p95_seconds))
        if row.variation_ratio is not None:
            signals.append(Signal(size, VARIATION, row.variation_ratio))
        if known := (past or {}).get(row.bytes):
            signals.append(Signal(size, sweep_baseline.PAST, known.bytes_per_second))
            signals.append(Signal(size, sweep_baseline.SPREAD, known.spread))
            signals.append(Signal(size, sweep_baseline.RUNS, float(known.runs)))
    history = History("sweep")
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 600.0)
