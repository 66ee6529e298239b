"""Does a busy GPU run at its clocks? Low clocks that the driver explains are gpu.throttle's or the power cap's."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import MEGAHERTZ, GpuFinding, average, conclude, gpus, history_seconds

SM = "gpu_clock_sm_hertz"
LOAD = "gpu_utilization_ratio"
REASONS = "gpu_clock_event_reasons"
APPLICATION_SETTING = 0x02
# power cap (normal under load) and the reasons that gpu.throttle evaluates
EXPLAINED = 0x04 | 0x08 | 0x20 | 0x40 | 0x80


def judge(window: Window, limits: Limits) -> Verdict:
    return conclude(_judge_gpu(window, gpu, limits) for gpu in gpus(window, SM))


def _judge_gpu(window: Window, gpu: Subject, limits: Limits) -> GpuFinding | None:
    now = window.number(gpu, SM)
    if now is None:
        return None
    if _busy(window, gpu, limits) and not _reasons(window, gpu, limits) & EXPLAINED:
        for part, ratio in (("sm", limits["sm_ratio"]), ("memory", limits["memory_ratio"])):
            if low := _low(window, gpu, part, ratio, limits):
                return low
    return GpuFinding(Row(gpu, Health.PASS, now))


def _busy(window: Window, gpu: Subject, limits: Limits) -> bool:
    span = limits["settle_seconds"]
    load = average(window, gpu, LOAD, span)
    known = min(history_seconds(window, gpu, LOAD), history_seconds(window, gpu, SM))
    return load is not None and load >= limits["busy_ratio"] and known >= span


def _reasons(window: Window, gpu: Subject, limits: Limits) -> int:
    since = window.now - limits["settle_seconds"]
    mask = 0
    for run in window.runs(gpu, REASONS):
        mask |= int(float(run.value)) if run.end >= since else 0
    return mask


def _low(window: Window, gpu: Subject, part: str, ratio: float, limits: Limits) -> GpuFinding | None:
    clock = average(window, gpu, f"gpu_clock_{part}_hertz", limits["settle_seconds"])
    most = window.number(gpu, f"gpu_clock_{part}_max_hertz")
    if clock is None or not most or clock >= ratio * most:
        return None
    held = _reasons(window, gpu, limits) & APPLICATION_SETTING
    why = "held there by a clock setting" if held else "and the driver names no cause"
    text = f"busy at a {part} clock of {clock / MEGAHERTZ:.0f} MHz of {most / MEGAHERTZ:.0f} MHz, {why}"
    return GpuFinding(Row(gpu, Health.DEGRADED, clock, ratio * most, text))


CHECK = Check(
    name="gpu.clocks",
    asks="Does a busy GPU run far below its clocks without a reason?",
    about="gpu",
    part="gpu",
    reads=(SM,),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="clear clock settings (nvidia-smi -rgc, -rac); if they stay low: when the job has ended, reset the GPU",
    owner="platform",
    repair=Verb.RESET_GPU,
    span=600.0,
    limits={"sm_ratio": 0.6, "memory_ratio": 0.9, "busy_ratio": 0.9, "settle_seconds": 120.0},
)
