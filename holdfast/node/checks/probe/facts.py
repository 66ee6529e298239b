"""Shared code of probe checks: a speed against the model's floor, its own history and its peers."""

from collections.abc import Sequence
from statistics import median

from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, kind
from holdfast.model.verdict import Row
from holdfast.model.window import Window
from holdfast.node.checks.check import Limits
from holdfast.node.checks.gpu.facts import GpuFinding

SPAN = 14400.0  # a run may take hours; its first measurements still count at its end
FALL = {"fall_ratio": 0.03, "least_peers": 3.0, "least_past_runs": 3.0}
"""Limits of every check of a speed: how far below its own past or its peers it may lie."""

RETRY = "run the full suite again with the node idle; if the value stays low, reset the GPU, then inspect it"
CORRUPT = "take the node out of service: its numbers are wrong; reset the GPU, test again, replace it if it repeats"
_WORN = {
    "gpu_ecc_aggregate_corrected_total": "corrected memory errors",
    "gpu_ecc_aggregate_uncorrected_total": "uncorrected memory errors",
    "gpu_remapped_rows_correctable": "rows remapped after corrected errors",
    "gpu_remapped_rows_uncorrectable": "rows remapped after uncorrected errors",
}


def on_gpus(window: Window) -> bool:
    return window.value(window.node, "probe_device") == "cuda"


def wrong(subject: Subject, count: float, text: str) -> GpuFinding:
    return GpuFinding(Row(subject, Health.FAIL, count, 0.0, text), CORRUPT, FailureClass.CORRUPTION)


def speed(window: Window, subject: Subject, name: str, floor: float, limits: Limits) -> GpuFinding:
    """First the absolute floor, then the part's own history and its peers. A CPU is reported, not evaluated."""
    value = window.number(subject, name)
    if value is None:
        return GpuFinding(Row(subject, Health.UNKNOWN, reason=f"no result of {name}"))
    if not on_gpus(window):
        text = f"{amount(value, name)} on {window.value(window.node, 'probe_device')}: reported, not judged"
        return GpuFinding(Row(subject, Health.PASS, value, reason=text))
    if value <= 0.0:
        text = f"{amount(value, name)}: the test ran and nothing was done"
        return GpuFinding(Row(subject, Health.FAIL, value, floor or None, text), RETRY, FailureClass.SLOWDOWN)
    if value < floor:
        text = f"{amount(value, name)}, below the {amount(floor, name)} that this model must reach"
        return GpuFinding(Row(subject, Health.FAIL, value, floor, text), RETRY, FailureClass.SLOWDOWN)
    for reference in (_past(window, subject, name, limits), _peers(window, subject, name, limits)):
        if reference is None:
            continue
        expected, allowed, text = reference
        least = expected * (1.0 - allowed)
        if value <= least:
            message = (
                f"{amount(value, name)}, {100 * (1.0 - value / expected):.1f} % below {text}{worn(window, subject)}"
            )
            return GpuFinding(Row(subject, Health.DEGRADED, value, least, message), RETRY, FailureClass.SLOWDOWN)
    known = "" if floor else "no minimum is known for it: compared with its own past and its peers only"
    return GpuFinding(Row(subject, Health.PASS, value, floor or None, known))


def _past(window: Window, subject: Subject, name: str, limits: Limits) -> tuple[float, float, str] | None:
    """Compare with past results. If they vary a lot, the tolerance grows with the variation."""
    runs = window.number(subject, f"past_runs_{name}") or 0.0
    before = window.number(subject, f"past_{name}")
    if not before or runs < limits["least_past_runs"]:
        return None
    spread = window.number(subject, f"past_spread_{name}") or 0.0
    allowed = min(0.9, max(limits["fall_ratio"], 3.0 * spread))
    return before, allowed, f"its own past ({runs:.0f} runs)"


def _peers(window: Window, subject: Subject, name: str, limits: Limits) -> tuple[float, float, str] | None:
    model = window.value(subject, "gpu_model")
    others = [
        value
        for other, value in window.values(name).items()
        if other != subject and kind(other) == kind(subject) and window.value(other, "gpu_model") == model
    ]
    middle = median(others) if others else 0.0
    if not middle or len(others) < limits["least_peers"]:
        return None
    spread = 1.4826 * median(abs(one - middle) for one in others) / middle
    return middle, min(0.9, max(limits["fall_ratio"], 3.0 * spread)), f"its {len(others)} peers in this node"


def worn(window: Window, subject: Subject) -> str:
    """Growth of error counts and remapped rows since the last run, as evidence for a slowdown."""
    grown = []
    for name, words in _WORN.items():
        now, before = window.number(subject, name), window.number(subject, f"past_{name}")
        if now is not None and before is not None and now > before:
            grown.append(f"{now - before:.0f} more {words}")
    return f"; since the last run {', '.join(grown)}" if grown else ""


def amount(value: float, name: str) -> str:
    if "flops" not in name:
        return f"{value / 1e9:.2f} GB/s"
    return f"{value / 1e12:.1f} TFLOP/s" if value >= 1e12 else f"{value / 1e9:.1f} GFLOP/s"


def with_signal(window: Window, *names: str) -> Sequence[Subject]:
    """The subjects that have one of these, in a stable order."""
    return sorted({subject for name in names for subject in window.values(name)})
