"""Is a GPU too hot? The margin to the slowdown point decides, or the slowdown threshold if there is no margin."""

from dataclasses import replace

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus, model_of, unknown

CORE = "gpu_temperature_celsius"
MARGIN = "gpu_thermal_margin_celsius"
MEMORY = "gpu_memory_temperature_celsius"
THRESHOLD = "gpu_slowdown_temperature_celsius"
NO_LIMIT = "and nothing says at which temperature its hardware slows down"
THERMAL_EVENTS = 0x08 | 0x20 | 0x40


NODE = "drain the node; check the inlet temperature and the fans or the coolant flow of the node"


def judge(window: Window, limits: Limits) -> Verdict:
    verdict = conclude(_judge_gpu(window, gpu, limits) for gpu in gpus(window, CORE))
    hot = [row for row in verdict.rows if row.health in (Health.FAIL, Health.DEGRADED)]
    together = len(hot) > 1 and len(hot) > len(verdict.rows) / 2  # not the heat sink of a single GPU
    return replace(verdict, remedy=NODE, owner="facilities") if together else verdict


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    core = window.number(gpu, CORE)
    if core is None:
        return None
    finding = _by_margin(window, gpu, core, limits) or _by_threshold(window, gpu, core, limits)
    hot_memory = _memory(window, gpu, limits)
    if hot_memory and (finding is None or finding.row.health is Health.PASS):
        return hot_memory
    return finding or _without_limit(window, gpu, core, limits)


def _without_limit(window: Window, gpu: Subject, core: float, limits: Limits) -> GpuFinding:
    missing = unknown(window, gpu, MARGIN, THRESHOLD)
    if core < limits["cool_core_celsius"]:
        return missing
    text = f"core at {core:.0f} C, {NO_LIMIT}: {missing.row.reason}"
    return GpuFinding(Row(gpu, Health.UNKNOWN, core, reason=text))


def _by_margin(window: Window, gpu: Subject, core: float, limits: Limits) -> GpuFinding | None:
    margin = window.number(gpu, MARGIN)
    if margin is None:
        return None
    limit = _slowdown_margin(window, gpu, limits)
    text = f"{margin:.0f} C to its thermal limit, hardware slows down below {limit:.0f} C; core at {core:.0f} C"
    near = limit + limits["near_celsius"]
    lowest = min(_recent(window, gpu, MARGIN, limits), default=margin)
    hysteresis = limits["hysteresis_celsius"]
    hot = margin < near + hysteresis and lowest < near  # the lowest is at most the current margin
    if not hot:
        return GpuFinding(Row(gpu, Health.PASS, margin, limit))
    if core < limits["cool_core_celsius"] and not _heat_events(window, gpu):
        # Some H100 report a margin of 0 or less while cold; a cold core that nothing slows down is not too hot.
        return GpuFinding(Row(gpu, Health.PASS, core, limits["cool_core_celsius"]))
    fails = margin < limit + hysteresis and lowest < limit
    return GpuFinding(Row(gpu, Health.FAIL if fails else Health.DEGRADED, margin, limit, text))


def _recent(window: Window, gpu: Subject, name: str, limits: Limits) -> list[float]:
    """Readings that still count: a GPU at a limit would otherwise change its verdict with every reading."""
    since = window.now - limits["hold_seconds"]
    return [float(run.value) for run in window.runs(gpu, name) if run.end >= since]


def _slowdown_margin(window: Window, gpu: Subject, limits: Limits) -> float:
    reported = window.number(gpu, "gpu_slowdown_margin_celsius")
    if reported is not None:
        return reported
    model = model_of(window, gpu)
    known = model.slowdown_margin_celsius if model else None
    return known if known is not None else limits["slowdown_margin_celsius"]


def _heat_events(window: Window, gpu: Subject) -> int:
    return int(window.number(gpu, "gpu_clock_event_reasons") or 0) & THERMAL_EVENTS


def _by_threshold(window: Window, gpu: Subject, core: float, limits: Limits) -> GpuFinding | None:
    threshold, model = window.number(gpu, THRESHOLD), model_of(window, gpu)
    by_catalog = not threshold and model is not None and model.slowdown_celsius is not None
    threshold = model.slowdown_celsius if by_catalog and model else threshold
    if not threshold:
        return None
    whose = f", says the catalog of the {model.name}" if by_catalog and model else ""
    text = f"core at {core:.0f} C, hardware slows down at {threshold:.0f} C{whose}"
    highest = max(_recent(window, gpu, CORE, limits), default=core)
    hysteresis, near = limits["hysteresis_celsius"], threshold - limits["near_celsius"]
    if core >= threshold or (core > threshold - hysteresis and highest >= threshold):
        return GpuFinding(Row(gpu, Health.FAIL, core, threshold, text))
    if core > near - hysteresis and highest > near:  # the highest is at least the current one
        return GpuFinding(Row(gpu, Health.DEGRADED, core, threshold, text))
    return GpuFinding(Row(gpu, Health.PASS, core, threshold))


def _memory(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    memory = window.number(gpu, MEMORY)
    limit = window.number(gpu, "gpu_memory_max_temperature_celsius") or limits["memory_max_celsius"]
    if memory is None:
        return None
    highest = max(_recent(window, gpu, MEMORY, limits), default=memory)
    if memory <= limit - limits["hysteresis_celsius"] or highest <= limit:
        return None
    text = f"memory at {memory:.0f} C, above its operating limit of {limit:.0f} C"
    return GpuFinding(Row(gpu, Health.DEGRADED, memory, limit, text))


CHECK = Check(
    name="gpu.temperature",
    asks="Is a GPU at or near the temperature at which hardware slows it down?",
    about="gpu",
    part="gpu",
    reads=(CORE,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="drain the node; check the heat sink or cold plate of this GPU, then its coolant branch, fans and inlet",
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=300.0,
    limits={
        "near_celsius": 5.0,
        "hysteresis_celsius": 3.0,
        "hold_seconds": 300.0,
        "slowdown_margin_celsius": -2.0,
        "cool_core_celsius": 70.0,
        "memory_max_celsius": 95.0,
    },
)
