"""Shared code of GPU checks: which GPUs to judge, their specification, peers, and combined findings."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from holdfast.catalog.gpus import GpuModel, gpu_model
from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Run, Window

GIBIBYTE = float(1 << 30)
MEGAHERTZ = 1e6

CLOCK_EVENTS = {
    0x02: "application clock setting",
    0x04: "power cap",
    0x08: "HW slowdown",
    0x10: "sync boost",
    0x20: "SW thermal slowdown",
    0x40: "HW thermal slowdown",
    0x80: "HW power brake",
}


class GpuFinding(NamedTuple):
    """A row, with a remedy if it differs from the check's default."""

    row: Row
    remedy: str = ""
    failure_class: FailureClass | None = None
    repair: str = ""  # the first repair step that can help


def conclude(findings: Iterable[GpuFinding | None], evidence: Iterable[str] = ()) -> Verdict:
    """All rows; remedy, class and repair step of the worst. None is a GPU that could not be read."""
    found = [finding for finding in findings if finding is not None]
    bad = [finding for finding in found if finding.row.health in (Health.FAIL, Health.DEGRADED)]
    worst_health = worst(finding.row.health for finding in bad)
    leading = next((finding for finding in bad if finding.row.health is worst_health), None)
    return Verdict(
        rows=tuple(finding.row for finding in found),
        remedy=leading.remedy if leading else "",
        failure_class=leading.failure_class if leading else None,
        repair=leading.repair if leading else "",
        evidence=tuple(evidence),
    )


def gpus(window: Window, name: str) -> tuple[Subject, ...]:
    """The expected GPUs, or if none are known, those that have this signal."""
    return window.inventory.expected("gpu") or tuple(window.values(name))


def model_of(window: Window, gpu: Subject) -> GpuModel | None:
    name = window.value(gpu, "gpu_model")
    return gpu_model(name) if isinstance(name, str) else None


def unknown(window: Window, gpu: Subject, *names: str) -> GpuFinding:
    """Whether all of these signals are missing, although the check needs one of them."""
    reasons = dict.fromkeys(window.why_absent(gpu, name) for name in names)
    return GpuFinding(Row(gpu, Health.UNKNOWN, reason="; ".join(reasons)))


def expected_number(window: Window, gpu: Subject, name: str) -> float | None:
    """The value in the node's manifest."""
    value = window.inventory.expect.get(gpu, {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def numbers(runs: Sequence[Run], since: float, until: float) -> list[tuple[float, float]]:
    """(seconds, value) of every run between two moments; a single sample weighs a second."""
    inside = [(max(run.start, since), min(run.end, until), run.value) for run in runs]
    return [(end - start + 1.0, float(value)) for start, end, value in inside if end >= start]


def average(window: Window, gpu: Subject, name: str, seconds: float, ago: float = 0.0) -> float | None:
    """The mean over time of a signal that is fresh; a single sample is its own mean, also if its source is read less
    often than this."""
    if (latest := window.number(gpu, name)) is None:
        return None
    weighed = numbers(window.runs(gpu, name), window.now - ago - seconds, window.now - ago)
    total = sum(weight for weight, _ in weighed)
    if not total:
        return None if ago else latest
    return sum(weight * value for weight, value in weighed) / total


def history_seconds(window: Window, gpu: Subject, name: str) -> float:
    """How far back this signal is known."""
    runs = window.runs(gpu, name)
    return window.now - runs[0].start if runs else 0.0


def peer_median(values: dict[Subject, float], gpu: Subject, least: int) -> float | None:
    """The median of the others, if there are enough of them to compare with."""
    others = [value for other, value in values.items() if other != gpu]
    return median(others) if len(others) >= least else None


def events_named(mask: int) -> str:
    return ", ".join(word for bit, word in CLOCK_EVENTS.items() if mask & bit)


def evidence_line(gpu: Subject, text: str) -> str:
    return f"{local_name(gpu)}: {text}"
